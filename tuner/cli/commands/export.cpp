// tilesmith export: the best configs for people, for other programs, and for other machines.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "db/exchange/export.hpp"
#include "db/exchange/recording.hpp"
#include "runtime/compile/compiler.hpp"
#include "tuner/bests/bests_today.hpp"
#include "tuner/bests/make_bundle.hpp"
#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/options/options.hpp"
#include "tuner/cli/options/own_kernel.hpp"
#include "tuner/cli/options/target.hpp"
#include "tuner/cli/output/logging.hpp"
#include "tuner/cli/output/output.hpp"
#include "tuner/cli/output/progress.hpp"
#include "tuner/cli/output/records.hpp"
#include "tuner/cli/output/signals.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/cli/output/terminal.hpp"
#include "tuner/figures.hpp"
#include "tuner/wanted.hpp"

namespace tilesmith::tuner {
namespace {

struct ExportOptions {
  FilterOptions filters;
  std::string kernel, format, output, db;
  bool retired = false, cover = false;
  std::int64_t per_problem = 1;
  std::int64_t max_kernels = 48;
  std::string arch;
};

std::size_t saved(const db::Bundle& bundle, const std::string& path) {
  CountProgress packing("packing kernels");
  return db::save_bundle(bundle, path, std::ref(packing));
}

void export_bundle(const db::Store& store, const Wanted& wanted, const ExportOptions& options) {
  const TargetDevice device = require_stored_device(store, options.filters.device);
  if (const std::string arch = db::ran_as(device.identity); !arch.empty()) {
    throw UsageError(
        fmt::format("--device '{}': ran the code of {} to prove it, which no runtime loads; expected a device that "
                    "ran its own",
            options.filters.device, arch));
  }
  BundleReport report;
  db::Bundle bundle;
  {
    CountProgress gathering("gathering kernels");
    bundle = make_bundle(store, device, wanted, report, std::ref(gathering));
  }
  const std::size_t bytes = saved(bundle, options.output);
  Screen::instance().print_line(fmt::format(
      "{}: {} bests of {} and {} generic kernels, {} ({} kernels compiled now; left out: {} retired, {} without kernel)",
      options.output, report.bests, short_name(device.identity), report.generic_kernels, format_bytes(double(bytes)),
      report.compiled, report.retired_problems, report.without_kernel));
}

/// The device that a cover is for: --arch alone means any of that architecture, with whatever the database knows of
/// none.
TargetDevice covered_device(const db::Store* store, const ExportOptions& options) {
  if (options.arch.empty()) return require_stored_device(*store, options.filters.device);
  if (!options.filters.device.empty())
    throw UsageError("--arch: names an architecture whose device is not known; expected no --device beside it");
  TargetDevice device;
  device.limits = require_arch(options.arch);
  device.identity.sm = device.limits.sm;
  return device;
}

int export_cover(const db::Store* store, const ExportOptions& options) {
  const TargetDevice device = covered_device(store, options);
  CoverOptions cover;
  cover.types = parse_types(options.filters.types);
  cover.trans = parse_trans(options.filters.trans);
  cover.max_kernels = std::size_t(options.max_kernels);
  CoverReport report;
  const std::string missing =
      store == nullptr ? runtime::nvrtc_unavailable_because() : "";  // a database may have all kernels
  if (!missing.empty()) throw UsageError("--arch: its kernels have to be compiled here: " + missing);
  StopOnSignal signals;
  db::Bundle bundle;
  {
    CountProgress choosing("choosing and compiling kernels");
    bundle = make_cover_bundle(store, device, cover, report, signals.stop(), std::ref(choosing));
  }
  if (signals.stop()) {
    spdlog::info("interrupted: nothing was written");
    return signals.exit_status();
  }
  const std::size_t bytes = saved(bundle, options.output);
  TextTable table({"type", "op", ">kernels", ">mean", ">lowest"});
  for (const CoverReport::Row& row : report.rows)
    table.add({row.type, row.trans, std::to_string(row.kernels), fmt::format("{:.3f}", row.mean_of_best),
        fmt::format("{:.3f}", row.worst_of_best)});
  Screen::instance().print_line(fmt::format(
      "{}: {} kernels for {}, {} of their measurements, {} ({} compiled now, {} left out). Of the best that is predicted, over a grid of shapes:\n{}",
      options.output, bundle.builds.size(), bundle.device.name, bundle.bests.size(), format_bytes(double(bytes)),
      report.compiled, report.without_kernel, table.text()));
  return kExitOk;
}

void export_recording(const db::Store& store, const Wanted& wanted, const ExportOptions& options) {
  const TargetDevice device = require_stored_device(store, options.filters.device);
  const CountProgress writing("writing the recording");
  db::RecordFilter filter = wanted.filter();
  filter.device.reset();
  filter.device_exactly = device.identity;
  if (wanted.is_filter()) {
    db::save_recording(store, filter, options.output);
  } else {  // a recording is of what one filter selects: here of all that a store holds of what is wanted
    std::vector<db::Record> entries = store.records(filter);
    std::erase_if(entries, [&](const db::Record& entry) { return !wanted.wants(entry); });
    if (entries.empty())
      throw UsageError(fmt::format("{}: no entry matches; expected some for a recording", store.path().string()));
    std::reverse(entries.begin(), entries.end());
    db::Store part = db::Store::in_memory();
    part.record(entries);
    db::save_recording(part, {}, options.output);
  }
  Screen::instance().print_line(fmt::format("{}: recording of {}", options.output, short_name(device.identity)));
}

int run_export(const ExportOptions& options) {
  const auto text_format = db::parse_export_format(options.format);
  const bool csv = options.format == "csv";
  const bool bundle = options.format == "bundle";
  const bool recording = options.format == "recording";
  if (!text_format && !csv && !bundle && !recording) {
    throw UsageError(
        fmt::format("--format '{}': expected json, csv, markdown, header, bundle or recording", options.format));
  }
  Wanted wanted = options.filters.wanted();
  if (!options.kernel.empty()) {
    if (text_format && options.format != "json")
      throw UsageError(
          fmt::format("--kernel: expected --format json, csv, bundle or recording, not {}", options.format));
    if (options.cover) throw UsageError("--kernel: expected no --cover, which is of GEMM problems");
    wanted.kernels = {own_kernel_name(options.kernel)};
  }
  const bool text = !bundle && !recording;
  if (!text && options.output.empty())
    throw UsageError(fmt::format("--format {}: expected -o FILE, it is not text", options.format));
  if (!text && options.output == "-")
    throw UsageError(
        fmt::format("--output '-': expected the name of a file, since --format {} is not text", options.format));
  if (!is_stdout(options.output)) require_writable(options.output, "--output");
  if (options.retired && !text)
    throw UsageError(fmt::format("--retired: expected a --format that is text, not {}", options.format));
  if (options.per_problem > 1 && !csv && options.format != "json")
    throw UsageError(fmt::format("--per-problem: expected --format json or csv, not {}", options.format));
  if (!options.cover && !options.arch.empty()) throw UsageError("--arch: expected --cover beside it");
  if (options.cover && (!bundle || options.retired || !options.filters.families.empty()))
    throw UsageError("--cover: expected --format bundle, without --family");
  if (options.cover && !options.arch.empty()) return export_cover(nullptr, options);
  const db::Store store = open_to_read(options.db, options.filters.device);
  wanted.know(store.devices());
  if (options.cover) return export_cover(&store, options);
  if (bundle) {
    export_bundle(store, wanted, options);
  } else if (recording) {
    export_recording(store, wanted, options);
  } else {
    require_known_device(store, options.filters.device);
    const BestsToday today = bests_today(store, wanted, options.retired, std::size_t(options.per_problem));
    write_result(csv ? to_csv(best_records(today.bests), best_columns()) : db::export_best(today.bests, *text_format),
        options.output);
    say_if_nothing(!today.bests.empty() || today.without > 0);
    if (!options.retired) say_left_out(today);
  }
  return kExitOk;
}

}  // namespace

Command add_export(CLI::App& program) {
  const auto [app, options, add] =
      new_command<ExportOptions>(program, "export", "Write the best configs as text, code, or a bundle for a runtime");
  add("--format", options->format, "FORMAT",
      "json (all an entry rests on; can be imported), csv (the columns of `query`), markdown, header (C++17 table), "
      "bundle (configs and cubins of one device in one file for the runtime library), recording (all outcomes of one "
      "device, for `tune --replay`; .zst: compressed)")
      ->required();
  add("-o,--out,--output", options->output, "FILE",
      "Write here instead of stdout (-); a file is needed for bundle and recording");
  add_filter_options(add, options->filters,
      "Only devices whose text contains this; bundle and recording need exactly "
      "one (see `tilesmith devices`)");
  add_kernel_filter(*app, options->kernel);
  add_retired_option(*app, options->retired);
  add("--per-problem", options->per_problem, "N",
      "Of json and csv: the best N of each problem on each device, best first")
      ->check(between(1, 1000));
  add.heading("Cover");
  app->add_flag("--cover", options->cover,
      "Of --format bundle: instead of the best configs of measured problems a few kernels that serve any "
      "shape of the type pairs and transposes, by predicted times");
  add("--max-kernels", options->max_kernels, "N", "Of a type pair and transposes; fewer if more bring less than 0.05%")
      ->check(between(1, 1000));
  add("--arch", options->arch, "ARCH",
      "For a device that is not here and of which nothing is recorded: of this architecture, as sm_87");
  add_database_option(*app, options->db);
  app->footer(
      "Exported is what would run, as `explain` judges it, on a device that is not here by its newest records; text formats say how\n"
      "far its records count (trust). A bundle also holds the generic kernels of every type pair and transposes. Kernels that\n"
      "are not in the database are compiled, if NVRTC is there. Files are written whole or not at all.\n"
      "\nExamples:\n"
      "  tilesmith export --format markdown\n"
      "  tilesmith export --format json --per-problem 12 --db night.db -o bests.json\n"
      "  tilesmith export --format bundle --device Orin --db orin.db -o orin.tsb\n"
      "  tilesmith export --format bundle --kernel softmax/ -o softmax.tsb\n"
      "  tilesmith export --format bundle --cover --arch sm_87 --type f16f32,f16f32f16 -o any-orin.tsb");
  return {app, [options = options] { return run_export(*options); }};
}

}  // namespace tilesmith::tuner
