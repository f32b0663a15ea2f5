#include "tuner/supervisor/several_end.hpp"

#include <algorithm>

#include "tuner/exit_status.hpp"

namespace tilesmith::tuner {

int worst_of(std::span<const int> statuses) {
  const auto failed = std::find_if(statuses.begin(), statuses.end(), [](int one) { return one != kExitOk && one != kExitSetAside; });
  if (failed != statuses.end()) return *failed;
  return std::find(statuses.begin(), statuses.end(), kExitSetAside) != statuses.end() ? kExitSetAside : kExitOk;
}

int beside_others(int status, const SliceBoard& board) {
  return status == kExitSetAside && board.had_slices() == board.size() ? kExitOk : status;
}

std::string_view how_it_ended(const SliceBoard& board, bool stopped, int status) {
  if (stopped) return "interrupted";
  if (board.count(SliceBoard::State::done) == board.size()) return "done";
  if (status == kExitSetAside) return "done but for what was set aside";
  return status == kExitOk ? "budget" : "failed";
}

}  // namespace tilesmith::tuner
