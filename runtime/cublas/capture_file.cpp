#include "runtime/cublas/capture_file.hpp"

#include <cstdio>
#include <string>
#include <vector>

#include "runtime/cublas/families.hpp"
#include "runtime/cublas/settings.hpp"
#include "runtime/cublas/shim_state.hpp"
#include "runtime/cublas/tilesmith_api.hpp"

namespace tilesmith::cublas {
namespace {

/// %p becomes the process's number. A forked child whose path has none appends it, so that it does not write over its parent's.
std::string capture_path(const ShimState& state) {
  std::string path = settings().capture;
  const std::string number = std::to_string(state.process);
  bool has_number = false;
  for (std::size_t at = 0; (at = path.find("%p", at)) != std::string::npos; at += number.size(), has_number = true) path.replace(at, 2, number);
  return has_number || !state.is_child ? path : path + "." + number;
}

std::string capture_text(ShimState& state, std::uint64_t& calls) {
  std::vector<CountedProblem> seen;
  for (const KnownProblem* problem : state.problems.all()) {
    const std::uint64_t count = problem->calls[std::size_t(Reason::capture_mode)].load(std::memory_order_relaxed);
    if (count > 0) seen.push_back({problem->key, count});
    calls += count;
  }
  const TilesmithApi* const api = tilesmith_api();
  if (api == nullptr) return "";
  return workload_text(seen, settings().buckets, "calls of cuBLAS by process " + std::to_string(state.process), {api->problem_text, api->last_error}).text;
}

void write_capture(ShimState& state) {
  std::uint64_t calls = 0;
  const std::string text = capture_text(state, calls), path = capture_path(state);
  const std::lock_guard lock(state.output);
  if (calls == state.calls_in_file || text.empty()) return;
  const std::string beside = path + ".part" + std::to_string(state.process);
  std::FILE* const file = std::fopen(beside.c_str(), "w");
  bool good = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file != nullptr) good = std::fclose(file) == 0 && good;
  if (good && std::rename(beside.c_str(), path.c_str()) == 0) {
    state.calls_in_file = calls;
    return;
  }
  std::remove(beside.c_str());
  static bool told = false;
  if (!told) say("%s: cannot be written, expected a file's path (TILESMITH_CAPTURE)", path.c_str());
  told = true;
}

}  // namespace

void write_capture_file() noexcept {
  try {
    if (ShimState* const state = shim_state()) write_capture(*state);
  } catch (...) {  // out of memory: the next time, perhaps
  }
}

}  // namespace tilesmith::cublas
