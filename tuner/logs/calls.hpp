// What a log says of a program's products: problems with the number of their calls, and how many calls are no problem
// of ours, by reason.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/cublas/calls/families.hpp"

namespace tilesmith::tuner {

class Calls {
 public:
  /// A call as the shim would have seen it. It is judged by the same rules (runtime/cublas/calls/problem_key.hpp).
  void add(const cublas::GemmCall& call, std::uint64_t times = 1);
  void leave_out(const std::string& why, std::uint64_t times = 1) { left_out_[why] += times; }
  void leave_out(cublas::Reason why, std::uint64_t times = 1) { leave_out(cublas::text(why), times); }
  /// Of another log.
  void add(const Calls& others);

  const std::vector<cublas::CountedProblem>& problems() const {
    return problems_;
  }  // one may stand there several times
  const std::map<std::string, std::uint64_t>& left_out() const { return left_out_; }
  std::uint64_t count() const { return count_; }  // of `problems`

 private:
  std::vector<cublas::CountedProblem> problems_;
  std::map<std::string, std::uint64_t> left_out_;
  std::uint64_t count_ = 0;
  std::size_t fold_at_ = 4096;
};

/// A call whose operands a log does not tell: aligned to 16 bytes, C where D lies, alpha 1. cublas::GemmCall's sizes
/// and types are to be set.
cublas::GemmCall call_of_a_log();
/// What a call's alpha or beta may point at: a value of any type that is 0, or is not.
const void* scalar_of_a_log(bool is_zero);

}  // namespace tilesmith::tuner
