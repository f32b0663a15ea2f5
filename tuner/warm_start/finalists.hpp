// Which candidates of a problem are played off.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "kernels/families/config.hpp"
#include "tuner/search/strategy.hpp"
#include "tuner/warm_start/own_records.hpp"

namespace tilesmith::tuner {

/// Indices of those that have a time, the fastest first; of equal ones in the order of their text, as in
/// db/store/ranked.hpp.
std::vector<std::size_t> in_order_of_time(
    std::span<const Score> time_us, const std::function<Config(std::size_t)>& config_of);

/// Indices of at most `most` candidates that have a time, the fastest first: the fastest, and where their launches are
/// not short (tuner/measure/timing_policy.hpp) the fastest of other block tiles too, of up to half as many tiles, if
/// they are within 8% of it. Candidates are timed for some ms each, in part at a clock that the device cannot keep
/// under them. What that flatters depends on the tile: on an H200 128×176 was 2.6% behind 256×176 by candidates' times
/// and 3.4% ahead under a lasting load, when the fastest five were 256×176 and 128×256 (docs/notes/measuring.md). Of
/// one tile the times keep their order.
std::vector<std::size_t> choose_finalists(
    std::span<const Score> time_us, const std::function<Config(std::size_t)>& config_of, std::size_t most);

/// Of what is known of a problem, those that a final benchmark would have if nothing faster came, the fastest first.
/// (If they were in one before, there is another only where something new gets among them.) Of records from elsewhere
/// no kernel is at hand, and the final benchmark would wait for its compiler.
std::vector<Config> known_finalists(std::span<const KnownCandidate> known, std::size_t most);

/// Of what a problem had by former records, those that are worth playing off by today's policy. Of short launches half
/// of them are the fastest without early launches: up to cold-3 short launches were timed in rows of their like, where
/// early ones overlap, so that the fastest dozen may hold no other (f16f32 NN 1000³ on an H200: the first without is
/// the 14th, and 11% behind).
std::vector<Config> former_finalists(std::span<const KnownCandidate> former, std::size_t most);

/// Whether playing these off, the fastest first, could change the choice: the fastest was in no final benchmark yet, or
/// its launches are not short and of another's block tile none was, which had fallen behind by its single time alone.
///   `was_played_off`  of every candidate, as `time_us`
bool final_benchmark_could_change_choice(std::span<const std::size_t> finalists, std::span<const Score> time_us,
    std::span<const char> was_played_off, const std::function<Config(std::size_t)>& config_of);

}  // namespace tilesmith::tuner
