#include "tuner/workers/protocol.hpp"

#include <cmath>
#include <span>
#include <utility>

#include "db/exchange/record_json.hpp"

namespace tilesmith::tuner {
namespace {

using nlohmann::json;

/// Any mistake in a message (a missing field, a field of another type) makes it nullopt.
template <typename Read>
auto checked(Read&& read) -> decltype(read()) {
  try {
    return read();
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

std::optional<Config> config_of(const json& from) { return Config::parse(from.at("config").get<std::string>()); }

std::optional<Task> problem_of(const json& from) {
  std::string error;
  return parse_task(from.at("task").get<std::string>(), error);
}

json timing_to_json(const db::Timing& timing) {
  return {{"median_us", timing.median_us}, {"spread", timing.spread}, {"samples", timing.samples},
      {"clock_mhz", timing.clock_mhz}, {"temperature_c", timing.temperature_c}, {"power_w", timing.power_w},
      {"drift", timing.drift}};
}

db::Timing timing_from_json(const json& from) {
  return {from.at("median_us"), from.at("spread"), from.at("samples"), from.at("clock_mhz"), from.at("temperature_c"),
      from.at("power_w"), from.at("drift")};
}

/// Takes the next `bytes` of the cubins that follow a message.
class Cubins {
 public:
  explicit Cubins(const Message& message) : rest_(message.blob) {}
  std::optional<std::vector<std::byte>> take(std::size_t bytes) {
    if (bytes > rest_.size()) return std::nullopt;
    const auto taken = rest_.first(bytes);
    rest_ = rest_.subspan(bytes);
    return std::vector<std::byte>(taken.begin(), taken.end());
  }
  bool all_taken() const { return rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
};

void append_cubin(Message& message, const std::vector<std::byte>& cubin) {
  message.blob.insert(message.blob.end(), cubin.begin(), cubin.end());
}

void append_control(Message& message, const std::optional<MeasureSession::ControlKernel>& control) {
  if (!control) return;
  message.json["control"] = {
      {"config", control->config.text()}, {"us", control->us}, {"cubin_bytes", control->cubin.size()}};
  append_cubin(message, control->cubin);
}

/// False if the message names a control that is not of its form.
bool take_control(const json& from, Cubins& cubins, std::optional<MeasureSession::ControlKernel>& control) {
  if (!from.contains("control")) return true;
  const json& entry = from.at("control");
  const auto config = config_of(entry);
  const double us = entry.at("us");
  auto cubin = cubins.take(entry.at("cubin_bytes"));
  if (!config || !cubin || !(us > 0)) return false;
  control = MeasureSession::ControlKernel{*config, *std::move(cubin), us};
  return true;
}

}  // namespace

json outcome_to_json(const db::Outcome& outcome) {
  json result{{"status", db::name(outcome.status)}, {"message", outcome.message}};
  if (outcome.timing) result["timing"] = timing_to_json(*outcome.timing);
  if (outcome.by_machine) result["by_machine"] = true;
  return result;
}

std::optional<db::Outcome> outcome_from_json(const json& from) {
  return checked([&]() -> std::optional<db::Outcome> {
    const auto status = db::parse_status(from.at("status").get<std::string>());
    if (!status) return std::nullopt;
    db::Outcome outcome{*status, from.at("message"), std::nullopt};
    if (from.contains("timing")) outcome.timing = timing_from_json(from.at("timing"));
    outcome.by_machine = from.value("by_machine", false);
    // A time without a passed verification, or none with one, would be nobody's result.
    if (outcome.timing.has_value() != (*status == db::Status::ok)) return std::nullopt;
    if (outcome.timing && !(outcome.timing->median_us > 0)) return std::nullopt;
    return outcome;
  });
}

std::optional<std::string> fatal_error(const Message& message) {
  return checked([&]() -> std::optional<std::string> {
    if (!message.json.is_object() || !message.json.contains("fatal")) return std::nullopt;
    return message.json.at("fatal").get<std::string>();
  });
}

Message to_message(const CompileRequest& request) {
  return {
      {{"do", "compile"}, {"config", request.config.text()}, {"signature", request.signature}, {"arch", request.arch}},
      {}};
}

std::optional<CompileRequest> compile_request(const Message& message) {
  return checked([&]() -> std::optional<CompileRequest> {
    const json& from = message.json;
    if (from.at("do") != "compile") return std::nullopt;
    const auto config = config_of(from);
    if (!config) return std::nullopt;
    return CompileRequest{*config, from.at("signature"), from.at("arch")};
  });
}

Message to_message(const db::KernelBuild& build) {
  Message message{{{"status", db::name(build.status)}, {"message", build.message}, {"registers", build.registers},
                      {"spill_bytes", build.spill_bytes}, {"static_smem_bytes", build.static_smem_bytes},
                      {"delayed_bytes", build.delayed_cubin.size()}},
      build.cubin};
  append_cubin(message, build.delayed_cubin);
  return message;
}

std::optional<db::KernelBuild> kernel_build(const Message& message, const db::KernelKey& key) {
  return checked([&]() -> std::optional<db::KernelBuild> {
    const json& from = message.json;
    const auto status = db::parse_status(from.at("status").get<std::string>());
    if (!status) return std::nullopt;
    const bool has_cubin = *status == db::Status::ok || *status == db::Status::spilled;
    if (!has_cubin && *status != db::Status::compile_failed) return std::nullopt;
    const std::size_t delayed_bytes = from.at("delayed_bytes");
    if (delayed_bytes > message.blob.size()) return std::nullopt;
    Cubins cubins(message);
    std::vector<std::byte> cubin = *cubins.take(message.blob.size() - delayed_bytes);
    if (has_cubin == cubin.empty()) return std::nullopt;
    return db::KernelBuild{key, *status, from.at("message"), from.at("registers"), from.at("spill_bytes"),
        from.at("static_smem_bytes"), std::move(cubin), *cubins.take(delayed_bytes)};
  });
}

bool says_out_of_memory(const Message& message) {
  return message.json.is_object() && message.json.contains("out_of_memory");
}

Message to_message(const MeasureSession::Job& job) {
  Message message{{{"do", "evaluate"}, {"task", text(job.task)}, {"config", job.config.text()},
                      {"suite_passed", job.suite_passed}, {"incumbent_us", job.incumbent_us},
                      {"cubin_bytes", job.cubin.size()}, {"delayed_bytes", job.delayed_cubin.size()}},
      job.cubin};
  append_cubin(message, job.delayed_cubin);
  append_control(message, job.control);
  return message;
}

std::optional<MeasureSession::Job> evaluate_request(const Message& message) {
  return checked([&]() -> std::optional<MeasureSession::Job> {
    const json& from = message.json;
    if (from.at("do") != "evaluate") return std::nullopt;
    const auto task = problem_of(from);
    const auto config = config_of(from);
    Cubins cubins(message);
    auto cubin = cubins.take(from.at("cubin_bytes")), delayed = cubins.take(from.at("delayed_bytes"));
    if (!task || !config || !cubin || !delayed) return std::nullopt;
    MeasureSession::Job job{*task, *config, *std::move(cubin), from.at("suite_passed"), from.at("incumbent_us")};
    job.delayed_cubin = *std::move(delayed);
    if (!take_control(from, cubins, job.control) || !cubins.all_taken()) return std::nullopt;
    return job;
  });
}

Message to_message(const MeasureSession::Result& result) {
  return {{{"outcome", outcome_to_json(result.outcome)}, {"suite_passed", result.suite_passed},
              {"context_lost", result.context_lost}, {"phase", name(result.phase)}},
      {}};
}

std::optional<MeasureSession::Result> evaluate_answer(const Message& message) {
  return checked([&]() -> std::optional<MeasureSession::Result> {
    const json& from = message.json;
    const auto outcome = outcome_from_json(from.at("outcome"));
    const auto phase = parse_phase(from.at("phase").get<std::string>());
    if (!outcome || !phase) return std::nullopt;
    return MeasureSession::Result{*outcome, from.at("suite_passed"), from.at("context_lost"), *phase};
  });
}

Message to_message(const PhaseNote& note) {
  return {{{"phase", name(note.phase)}, {"new_problem", note.new_problem}}, {}};
}

std::optional<PhaseNote> phase_note(const Message& message) {
  return checked([&]() -> std::optional<PhaseNote> {
    const json& from = message.json;
    if (from.contains("outcome")) return std::nullopt;
    const auto phase = parse_phase(from.at("phase").get<std::string>());
    if (!phase) return std::nullopt;
    return PhaseNote{*phase, from.at("new_problem")};
  });
}

Message to_message(const FinalBenchmarkRequest& request) {
  Message message{{{"do", "final_benchmark"}, {"task", text(request.task)}, {"finalists", json::array()}}, {}};
  for (const MeasureSession::Job& finalist : request.finalists) {
    message.json["finalists"].push_back({{"config", finalist.config.text()}, {"cubin_bytes", finalist.cubin.size()}});
    append_cubin(message, finalist.cubin);
  }
  append_control(message, request.control);
  if (request.vendor) message.json["vendor_seconds"] = request.vendor->seconds;
  return message;
}

std::optional<FinalBenchmarkRequest> final_benchmark_request(const Message& message) {
  return checked([&]() -> std::optional<FinalBenchmarkRequest> {
    const json& from = message.json;
    if (from.at("do") != "final_benchmark") return std::nullopt;
    const auto task = problem_of(from);
    if (!task) return std::nullopt;
    FinalBenchmarkRequest request{*task, {}, std::nullopt};
    if (from.contains("vendor_seconds")) request.vendor = VendorAsk{from.at("vendor_seconds")};
    if (request.vendor && !(std::isfinite(request.vendor->seconds) && request.vendor->seconds >= 0))
      return std::nullopt;
    Cubins cubins(message);
    for (const json& entry : from.at("finalists")) {
      const auto config = config_of(entry);
      auto cubin = cubins.take(entry.at("cubin_bytes"));
      if (!config || !cubin) return std::nullopt;
      request.finalists.push_back({*task, *config, *std::move(cubin), true, 0});
    }
    if (!take_control(from, cubins, request.control) || !cubins.all_taken()) return std::nullopt;
    return request;
  });
}

namespace {

/// What is not of its form is an answer of its own: the finalists' outcomes count all the same.
VendorAnswer vendor_answer(const json& from) {
  VendorAnswer answer;
  try {
    if (from.contains("unavailable")) answer.unavailable = from.at("unavailable").get<std::string>();
    else answer.times = db::vendor_times_from_json(from.at("times"));
  } catch (const std::exception& error) {
    answer.unavailable = std::string("the measuring process answered nonsense: ") + error.what();
  }
  return answer;
}

}  // namespace

Message to_message(const FinalBenchmarkAnswer& answer) {
  Message message{{{"outcomes", json::array()}, {"context_lost", answer.context_lost}}, {}};
  for (const db::Outcome& outcome : answer.outcomes) message.json["outcomes"].push_back(outcome_to_json(outcome));
  if (answer.vendor && !answer.vendor->unavailable.empty())
    message.json["vendor"] = {{"unavailable", answer.vendor->unavailable}};
  else if (answer.vendor) message.json["vendor"] = {{"times", json(db::to_json(answer.vendor->times))}};
  return message;
}

std::optional<FinalBenchmarkAnswer> final_benchmark_answer(const Message& message) {
  return checked([&]() -> std::optional<FinalBenchmarkAnswer> {
    FinalBenchmarkAnswer answer{{}, message.json.at("context_lost")};
    if (message.json.contains("vendor")) answer.vendor = vendor_answer(message.json.at("vendor"));
    for (const json& entry : message.json.at("outcomes")) {
      const auto outcome = outcome_from_json(entry);
      if (!outcome) return std::nullopt;
      answer.outcomes.push_back(*outcome);
    }
    return answer;
  });
}

}  // namespace tilesmith::tuner
