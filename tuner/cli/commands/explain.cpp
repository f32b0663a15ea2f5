// tilesmith explain: what the runtime library would run for a problem, and on what records.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "db/store/trust.hpp"
#include "runtime/choose/catalogue.hpp"
#include "runtime/choose/choose.hpp"
#include "runtime/choose/own_chooser.hpp"
#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/commands/prior.hpp"
#include "tuner/cli/options/options.hpp"
#include "tuner/cli/options/target.hpp"
#include "tuner/cli/output/output.hpp"
#include "tuner/cli/output/records.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/cli/output/terminal.hpp"
#include "tuner/figures.hpp"
#include "tuner/peaks.hpp"

namespace tilesmith::tuner {
namespace {

using Json = nlohmann::ordered_json;

struct ExplainOptions {
  OwnKernelOptions own;
  std::vector<std::string> words;
  ProblemOptions problems;
  std::string device, arch, format = "table", db;
  bool prior = false;
};

/// Of --type, --trans and --shape.
Problem problem_of(const ProblemOptions& options) {
  if (options.shapes.empty()) throw UsageError("PROBLEM: expected type transposes M N K, or --shape MxNxK");
  const Workload workload = select_problems(options);
  if (workload.tasks.size() == 1) return workload.tasks.front().task.problem();
  throw UsageError(fmt::format("--shape: {} problems are named; expected one", workload.tasks.size()));
}

Problem problem_of(const ExplainOptions& options) {
  if (options.words.empty()) return problem_of(options.problems);
  std::string error;
  const std::vector<std::string> words = problem_words(fmt::format("{}", fmt::join(options.words, " ")));
  const auto problem = parse_problem(fmt::format("{}", fmt::join(words, " ")), error);
  if (!problem) throw UsageError(fmt::format("PROBLEM: {}", error));
  return *problem;
}

/// Without records of any device, --arch still has an answer: what the families' own estimates say.
TargetDevice answering_device(const ExplainOptions& options, const db::Store& store) {
  if (options.arch.empty()) return device_to_answer_for(store, options.device);
  const DeviceLimits limits = require_arch(options.arch);
  if (!options.device.empty()) {
    TargetDevice device = device_to_answer_for(store, options.device);
    if (device.limits.arch == limits.arch || db::ran_as(device.identity) == limits.arch) return device;
    throw UsageError(fmt::format("--device '{}': {} is of {}; expected that as --arch, or no --arch", options.device,
        short_name(device.identity), device.limits.arch));
  }
  std::vector<db::DeviceIdentity> matching;
  for (const db::DeviceIdentity& device : store.devices()) {
    if (device.sm == limits.sm && db::ran_as(device).empty()) matching.push_back(device);
  }
  if (matching.size() > 1) return require_stored_device(store, options.device);
  TargetDevice device;
  device.limits = limits;
  device.identity.sm = limits.sm;
  if (!matching.empty()) device.identity = matching.front();
  return device;
}

void add_line(std::string& out, std::string_view label, const std::string& value) {
  if (!value.empty()) out += fmt::format("{:<12}{}\n", label, value);
}

std::string conditions(const db::Timing& timing) {
  std::vector<std::string> parts;
  if (timing.clock_mhz > 0) parts.push_back(fmt::format("{:.0f} MHz", timing.clock_mhz));
  if (timing.temperature_c > 0) parts.push_back(fmt::format("{:.0f} °C", timing.temperature_c));
  if (timing.power_w > 0) parts.push_back(fmt::format("{:.0f} W", timing.power_w));
  if (timing.drift != 1) parts.push_back(fmt::format("drift {:.3f} divided out", timing.drift));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string record_lines(const db::Record& entry, db::Trust trust, double clock_mhz) {
  std::string out;
  const db::Timing timing = entry.outcome.timing.value_or(db::Timing{});
  add_line(out, "measured",
      fmt::format("{}: {} us, {}, spread ±{:.1f}%, {} samples", text(entry.task), format_us(timing.median_us),
          rate_of(entry.task, entry.device, timing.median_us, clock_mhz).text(), 100 * timing.spread, timing.samples));
  add_line(out, "conditions", conditions(timing));
  add_line(out, "trust", std::string(db::name(trust)));
  add_line(out, "on device", db::text(entry.device));
  add_line(out, "plan", entry.plan_hash);
  add_line(out, "compiled by",
      fmt::format("NVRTC {} {}", entry.environment.nvrtc_version, entry.environment.compiler_options));
  add_line(out, "driver", entry.environment.driver_version);
  add_line(out, "policy", entry.environment.measuring_policy);
  add_line(out, "recorded", fmt::format("{} at {}, run {}", entry.created_at, entry.origin, entry.run));
  return out;
}

/// What is known of the vendor, on the exact level alone.
struct ExplainedVendor {
  std::optional<db::VendorTimes> beside;  ///< the choice's record
  std::string none_because;
};

ExplainedVendor vendor_of(const db::Store& store, const Problem& problem, const runtime::Choice& choice) {
  if (choice.level != runtime::Level::exact || !choice.record) return {};
  db::RecordFilter filter;
  filter.task = problem;
  filter.device_exactly = choice.record->device;
  const db::VendorIndex index(store.vendor_times(filter));
  if (const db::VendorTimes* beside = index.beside(*choice.record)) return {*beside, ""};
  const db::VendorTimes* newest = index.newest(problem, choice.record->device);
  if (newest == nullptr) return {std::nullopt, "not timed beside this entry"};
  return {std::nullopt, newest->has_time() ? "timed beside another entry" : newest->message};
}

std::string vendor_line(const ExplainedVendor& vendor, double our_us) {
  if (!vendor.beside) return vendor.none_because.empty() ? "" : "none: " + vendor.none_because;
  const db::VendorTimes& times = *vendor.beside;
  const auto one = [&](const db::VendorTime& time) {
    return time.us > 0 ? fmt::format("{} us (x {})", format_us(time.us), vendor_ratio(time, our_us))
                       : std::string("no time");
  };
  return fmt::format("cuBLASLt {}: first choice {}, best of {} {}{}", times.vendor_version, one(times.first),
      times.timed, one(times.best), times.message.empty() ? "" : "; " + times.message);
}

Json as_json(const ExplainedVendor& vendor, double our_us) {
  if (!vendor.beside) return nullptr;
  const db::VendorTimes& times = *vendor.beside;
  const auto one = [&](const db::VendorTime& time) -> Json {
    if (!(time.us > 0)) return nullptr;
    return {{"us", time.us}, {"spread", time.spread}, {"x", time.us / our_us}, {"algorithm", time.algorithm}};
  };
  return {{"vendor", times.vendor}, {"version", times.vendor_version}, {"first", one(times.first)},
      {"best", one(times.best)}, {"offered", times.offered}, {"timed", times.timed}, {"message", times.message},
      {"driver_version", times.driver_version}, {"measuring_policy", times.measuring_policy}, {"run", times.run},
      {"created_at", times.created_at}};
}

double median_of(const runtime::Choice& choice) {
  return choice.record && choice.record->outcome.timing ? choice.record->outcome.timing->median_us : 0;
}

std::string as_text(const Task& task, const TargetDevice& device, const runtime::Choice& choice,
    const ExplainedVendor& vendor, const std::string& not_loaded, std::size_t width) {
  std::string out;
  add_line(out, task.is_gemm() ? "problem" : "kernel", text(task));
  add_line(out, "device",
      device.identity.name.empty() ? device.limits.arch + " (no device of it is known)" : db::text(device.identity));
  add_line(out, "level", std::string(runtime::name(choice.level)));
  add_line(out, "config", choice.config.text());
  add_line(out, "because", runtime::reason_of(choice));
  if (choice.level == runtime::Level::model && choice.predicted_us > 0)
    add_line(out, "predicted", fmt::format("{} us", format_us(choice.predicted_us)));
  if (choice.record) out += record_lines(*choice.record, choice.trust, device.clock_mhz);
  add_line(out, "vendor", vendor_line(vendor, median_of(choice)));
  add_line(out, "left out", not_loaded);
  if (choice.runners_up.empty()) return out;
  TextTable table({">runner-up", "level", ">µs", "note", "config"});
  for (std::size_t i = 0; i < choice.runners_up.size(); ++i) {
    const auto& next = choice.runners_up[i];
    const bool exact = next.level == runtime::Level::exact;
    table.add({std::to_string(i + 1), std::string(runtime::name(next.level)), (exact ? "" : "~") + format_us(next.us),
        next.note, next.config.text()});
  }
  return out + "\n" + table.text(width);
}

Json as_json(const Task& task, const TargetDevice& device, const runtime::Choice& choice) {
  Json json{{"problem", text(task)},
      {"device", device.identity.name.empty() ? device.limits.arch : db::text(device.identity)},
      {"level", runtime::name(choice.level)}, {"config", choice.config.text()}};
  if (choice.level == runtime::Level::model) json["predicted_us"] = choice.predicted_us;
  json["reason"] = runtime::reason_of(choice);
  json["trust"] = choice.record ? Json(db::name(choice.trust)) : Json(nullptr);
  json["record"] = choice.record ? record(*choice.record) : Json(nullptr);
  json["runners_up"] = Json::array();
  for (const auto& next : choice.runners_up)
    json["runners_up"].push_back({{"config", next.config.text()}, {"level", runtime::name(next.level)},
        {next.level == runtime::Level::exact ? "median_us" : "predicted_us", next.us}, {"note", next.note}});
  return json;
}

/// At the clock of the choice's record if that is of this problem, so that estimate and time can be compared.
double clock_of(const runtime::Choice& choice, const TargetDevice& device, const Problem& problem) {
  if (choice.level == runtime::Level::exact && choice.record && choice.record->outcome.timing &&
      choice.record->outcome.timing->clock_mhz > 0)
    return choice.record->outcome.timing->clock_mhz;
  return rated_clock_mhz(device.identity, problem.type, device.clock_mhz);
}

/// The library's choice among what was measured of the kernel, then what it would take next.
int explain_own_kernel(const ExplainOptions& options, TextFormat format) {
  if (!options.words.empty() || !options.problems.empty() || options.prior)
    throw UsageError("--kernel: expected no problem and no --prior beside it");
  const own::Kernel& kernel = load_own_kernel(options.own);
  const SizedKernel sized = sized_kernel(kernel, options.own);
  const db::Store store = open_to_read(options.db, options.device);
  const TargetDevice device = answering_device(options, store);
  const runtime::OwnChooser chooser(
      store.records({.type = "kernel", .family = kernel.name(), .sm = device.identity.sm}), kernel,
      {.identity = device.identity, .limits = device.limits, .driver_version = device.driver_version});
  const std::vector<runtime::Choice> choices = chooser.choices(sized);
  if (choices.empty()) throw UsageError(fmt::format("{}: no config is legal on {}", text(sized), device.limits.arch));
  runtime::Choice choice = choices.front();
  for (std::size_t i = 1; i < std::min(choices.size(), runtime::kMostRunnersUp + 1); ++i) {
    const auto& timing = choices[i].record->outcome.timing;
    choice.runners_up.push_back({choices[i].config, choices[i].level, timing->median_us, choices[i].reason});
  }
  if (format == TextFormat::json) write_result(json_text(as_json(sized, device, choice)));
  else write_result(as_text(sized, device, choice, {}, "", stdout_width()));
  return kExitOk;
}

int run_explain(const ExplainOptions& options) {
  const TextFormat format = parse_text_format(options.format, false);
  if (!options.own.folder.empty()) return explain_own_kernel(options, format);
  const Problem problem = problem_of(options);
  if (!options.arch.empty()) require_arch(options.arch);
  const db::Store store = open_to_read(options.db, options.device);
  const TargetDevice device = answering_device(options, store);
  const KernelTarget target{problem, device.limits};

  const std::vector<db::Record> entries = runtime::records_to_choose_by(store, problem.type, device.identity.sm);
  const auto now = [&](const std::string& family) { return environment_to_judge_by(entries, family, device); };
  const db::DeviceIdentity* identity = device.identity.name.empty() ? nullptr : &device.identity;
  const runtime::Choice choice = runtime::choose(entries, problem, target, now, identity);
  const std::vector<std::string> not_loaded = db::families_not_loaded(entries);
  const ExplainedVendor vendor = vendor_of(store, problem, choice);
  std::optional<Prior> prior;
  if (options.prior) {
    if (problem.m < 1 || problem.n < 1 || problem.k < 1 || problem.batch < 1)
      throw UsageError("--prior: expected M, N, K and batch of at least 1");
    prior = prior_of(choice.config, {families_named({}), device.identity, device.limits, now, {}}, store, problem,
        clock_of(choice, device, problem));
  }
  if (format == TextFormat::json) {
    Json json = as_json(problem, device, choice);
    json["vendor"] = as_json(vendor, median_of(choice));
    json["not_loaded"] = not_loaded;
    if (prior) json["prior"] = as_json(*prior);
    write_result(json_text(json));
  } else {
    const std::string text = as_text(problem, device, choice, vendor, db::not_loaded_text(not_loaded), stdout_width());
    write_result(prior ? text + "\n" + as_text(*prior, stdout_width()) : text);
  }
  return kExitOk;
}

}  // namespace

Command add_explain(CLI::App& program) {
  const auto [app, options, add] =
      new_command<ExplainOptions>(program, "explain", "What would run for a problem, from which level, on what record");
  CLI::Option* words = add("PROBLEM", options->words, "",
      "type transposes M N K (elements), as one word or several, or MxNxK in the place of M N K; "
      "also lda= ldb= ldc= align= beta=any, batch= batch_mode=strided stride_a= stride_b= "
      "stride_c= epilogue= scalars=device sparsity= weights=");
  add("--shape", options->problems.shapes, "MxNxK",
      "The problem instead, as tune takes it: M, N and K in elements, or one number for a cube")
      ->excludes(words);
  add("--type", options->problems.types, "PAIR", "With --shape: the type pair; default f16f32")->excludes(words);
  add("--trans", options->problems.trans, "TRANS", "With --shape: NN, NT, TN or TT; default NN")->excludes(words);
  add_own_kernel_options(*app, options->own);
  add("--device", options->device, "TEXT", "Answer for the device of the database whose text contains this");
  add("--arch", options->arch, "ARCH", "Answer for this architecture, where the database knows no device of it");
  add("--format", options->format, "FORMAT", "table or json");
  app->add_flag("--prior", options->prior,
      "Also what is known before anything is compiled: what the config and the first initial configs are "
      "estimated to take, by waves of blocks, room on an SM and bytes, and which configs were pruned and why");
  add_database_option(*app, options->db);
  app->footer(
      "Levels, in order: `exact` (records for this very problem), `model` (the config with the shortest predicted time: an analytic\n"
      "estimate, corrected by what was measured on other problems), `generic` (a plain kernel that runs everything). Without --device the answer is for the GPU here, else for the only\n"
      "device of the database. On the exact level `vendor` is what cuBLASLt took beside the entry, and x that time over the entry's.\n"
      "\nExamples:\n"
      "  tilesmith explain f16f32 NN 1024 1024 1024\n"
      "  tilesmith explain --type bf16f32 --shape 1024x4096x77\n"
      "  tilesmith explain f16f32 NN 1024 1024 1024 --prior\n"
      "  tilesmith explain --kernel softmax/ --sizes rows=100,cols=77\n"
      "  tilesmith explain 's8s32 NT 1000 4096 4096 lda=4112' --device Orin --db orin.db");
  return {app, [options = options] { return run_explain(*options); }};
}

}  // namespace tilesmith::tuner
