// How a run on several devices ended: of its tuners' exit statuses one, and a word for the log.
#pragma once

#include <span>
#include <string_view>

#include "tuner/schedule/slice_board.hpp"

namespace tilesmith::tuner {

/// The exit status of the tuners of one board, or of several boards: the first that tells of a failure, else kExitSetAside if one is
/// that, else kExitOk.
int worst_of(std::span<const int> statuses);

/// What one tuner's exit status means beside the others of its board: what it set aside is well if each problem had a slice with one of
/// them, be it one that ended with the budget.
int beside_others(int status, const SliceBoard& board);

/// For the log. `status`: of the board's tuners.
std::string_view how_it_ended(const SliceBoard& board, bool stopped, int status);

}  // namespace tilesmith::tuner
