// What a tuner (or another command that compiles or measures) and its worker processes say to each other: requests and
// answers as JSON and a blob.
//
// Whatever arrives is checked: the reading functions return nullopt for a message that is not of their form.
//   compile      {"do":"compile","config","type","trans","arch"}  → {"status","message","registers",...} + cubin
//                or {"out_of_memory":true} of a host that has none left
//   evaluate     {"do":"evaluate","task","config","suite_passed","incumbent_us","cubin_bytes","control"} + cubins
//                → any number of {"phase","new_problem"}, then {"outcome","suite_passed","context_lost","phase"}
//   final_benchmark     {"do":"final_benchmark","task","finalists":[{"config","cubin_bytes"}],"control","vendor_seconds"} + cubins
//                → {"outcomes":[..],"context_lost","vendor"}, before it {"phase","new_problem"} where the vendor was
//                asked for
//   "vendor_seconds", where the vendor's algorithms are to play along: VendorAsk; "vendor": {"unavailable"} or
//   {"times"}. "control", where there is one: {"config","us","cubin_bytes"}; cubins stand one after the other, the
//   control's last. a measuring process begins with {"ready":true,"clock_probe_us"}; any worker may say {"fatal":"..."}
//   and end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "db/store/record.hpp"
#include "kernels/families/family.hpp"
#include "tuner/workers/measure_session.hpp"
#include "tuner/workers/process.hpp"

namespace tilesmith::tuner {

nlohmann::json outcome_to_json(const db::Outcome& outcome);
std::optional<db::Outcome> outcome_from_json(const nlohmann::json& json);

/// What a worker ends with when its environment, not a candidate, is broken.
std::optional<std::string> fatal_error(const Message& message);

struct CompileRequest {
  Config config;
  std::string signature;  ///< its text
  std::string arch;
};
Message to_message(const CompileRequest& request);
std::optional<CompileRequest> compile_request(const Message& message);

/// Everything of a build but its key, which the tuner knows.
Message to_message(const db::KernelBuild& build);
std::optional<db::KernelBuild> kernel_build(const Message& message, const db::KernelKey& key);
/// Of a compiler, instead of a build.
bool says_out_of_memory(const Message& message);

Message to_message(const MeasureSession::Job& job);
std::optional<MeasureSession::Job> evaluate_request(const Message& message);

Message to_message(const MeasureSession::Result& result);
std::optional<MeasureSession::Result> evaluate_answer(const Message& message);

struct PhaseNote {
  Phase phase = Phase::loading;
  bool new_problem = false;
};
Message to_message(const PhaseNote& note);
std::optional<PhaseNote> phase_note(const Message& message);

struct FinalBenchmarkRequest {
  Task task;
  std::vector<MeasureSession::Job> finalists;
  std::optional<MeasureSession::ControlKernel> control;
  std::optional<VendorAsk> vendor = std::nullopt;
};
Message to_message(const FinalBenchmarkRequest& request);
std::optional<FinalBenchmarkRequest> final_benchmark_request(const Message& message);

struct FinalBenchmarkAnswer {
  std::vector<db::Outcome> outcomes;
  bool context_lost = false;
  std::optional<VendorAnswer> vendor = std::nullopt;
};
Message to_message(const FinalBenchmarkAnswer& answer);
std::optional<FinalBenchmarkAnswer> final_benchmark_answer(const Message& message);

}  // namespace tilesmith::tuner
