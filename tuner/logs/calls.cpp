#include "tuner/logs/calls.hpp"

#include <algorithm>
#include <unordered_map>

namespace tilesmith::tuner {
namespace {

/// A long log has the same problems again and again.
void fold(std::vector<cublas::CountedProblem>& problems) {
  std::unordered_map<cublas::ProblemKey, std::size_t, cublas::HashOfKey> known;
  std::vector<cublas::CountedProblem> once;
  for (const cublas::CountedProblem& one : problems) {
    const auto [at, is_new] = known.emplace(one.key, once.size());
    if (is_new) once.push_back(one);
    else once[at->second].calls += one.calls;
  }
  problems = std::move(once);
}

}  // namespace

void Calls::add(const cublas::GemmCall& call, std::uint64_t times) {
  cublas::CountedProblem problem{{}, times};
  if (const cublas::Reason why = cublas::key_of(call, problem.key); why != cublas::Reason::none)
    return leave_out(why, times);
  count_ += times;
  problems_.push_back(problem);
  if (problems_.size() < fold_at_) return;
  fold(problems_);
  fold_at_ = std::max<std::size_t>(4096, 2 * problems_.size());
}

void Calls::add(const Calls& others) {
  problems_.insert(problems_.end(), others.problems_.begin(), others.problems_.end());
  fold(problems_);
  for (const auto& [why, times] : others.left_out_) left_out_[why] += times;
  count_ += others.count_;
}

const void* scalar_of_a_log(bool is_zero) {
  alignas(8) static const unsigned char zero[8] = {}, other[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  return is_zero ? zero : other;
}

cublas::GemmCall call_of_a_log() {
  alignas(16) static unsigned char operand[16];  // its address is looked at, what it holds is not
  cublas::GemmCall call;
  call.alpha = scalar_of_a_log(false);
  call.beta = scalar_of_a_log(true);
  call.a = call.b = call.c = call.d = operand;
  return call;
}

}  // namespace tilesmith::tuner
