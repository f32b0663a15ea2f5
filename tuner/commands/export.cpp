// tilesmith export: the best configs for people, for other programs, and for other machines.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "db/export.hpp"
#include "db/landscape.hpp"
#include "tuner/commands/command.hpp"
#include "tuner/commands/logging.hpp"
#include "tuner/commands/make_bundle.hpp"
#include "tuner/commands/options.hpp"
#include "tuner/commands/output.hpp"
#include "tuner/commands/terminal.hpp"
#include "tuner/figures.hpp"

namespace tilesmith::tuner {
namespace {

struct ExportOptions {
  std::string format, output, type, trans, family, device, db;
};

db::EvidenceFilter filter_of(const ExportOptions& options) {
  db::EvidenceFilter filter;
  if (!options.type.empty()) {
    const std::vector<TypePair> types = parse_types({options.type});
    if (types.size() != 1) throw UsageError(fmt::format("--type '{}': expected one type pair", options.type));
    filter.type = std::string(types.front().name);
  }
  if (!options.trans.empty()) {
    const std::vector<Transposes> trans = parse_trans({options.trans});
    if (trans.size() != 1) throw UsageError(fmt::format("--trans '{}': expected one of NN, NT, TN, TT", options.trans));
    filter.trans = trans.front();
  }
  if (!options.family.empty()) {
    const std::vector<std::string> named = parse_families({options.family});
    if (named.size() != 1) throw UsageError(fmt::format("--family '{}': expected one family", options.family));
    filter.family = named.front();
  }
  if (!options.device.empty()) filter.device = options.device;
  return filter;
}

void export_bundle(const db::Store& store, const ExportOptions& options) {
  const TargetDevice device = require_stored_device(store, options.device);
  if (const std::string arch = db::ran_as(device.identity); !arch.empty()) {
    throw UsageError(fmt::format("--device '{}': ran the code of {} to prove it, which no runtime loads; expected a device that "
                                 "ran its own",
                                 options.device, arch));
  }
  BundleReport report;
  const db::Bundle bundle = make_bundle(store, device, filter_of(options), report, [](std::size_t done, std::size_t total) {
    Screen::instance().set_status({fmt::format("gathering kernels: {}/{}", done, total)});
  });
  Screen::instance().clear_status();
  db::save_bundle(bundle, options.output);
  std::error_code ignored;
  Screen::instance().print_line(fmt::format(
      "{}: {} bests of {} and {} generic kernels, {} ({} kernels compiled now; left out: {} retired, {} without kernel)",
      options.output, report.bests, short_name(device.identity), report.generic_kernels,
      format_bytes(double(std::filesystem::file_size(options.output, ignored))), report.compiled, report.retired,
      report.without_kernel));
}

void export_landscape(const db::Store& store, const ExportOptions& options) {
  const TargetDevice device = require_stored_device(store, options.device);
  db::EvidenceFilter filter = filter_of(options);
  filter.device.reset();
  filter.device_exactly = device.identity;
  db::save_landscape(store, filter, options.output);
  Screen::instance().print_line(fmt::format("{}: landscape of {}", options.output, short_name(device.identity)));
}

int run_export(const ExportOptions& options) {
  const auto text_format = db::parse_export_format(options.format);
  const bool bundle = options.format == "bundle";
  const bool landscape = options.format == "landscape";
  if (!text_format && !bundle && !landscape) {
    throw UsageError(fmt::format("--format '{}': expected json, csv, markdown, header, bundle or landscape", options.format));
  }
  const db::EvidenceFilter filter = filter_of(options);
  if ((bundle || landscape) && options.output.empty()) {
    throw UsageError(fmt::format("--format {}: expected -o FILE, it is not text", options.format));
  }
  if (!options.output.empty()) require_writable(options.output, "--output");
  const db::Store store = db::Store::open_read_only(database_path(options.db));
  if (bundle) {
    export_bundle(store, options);
  } else if (landscape) {
    export_landscape(store, options);
  } else {
    write_result(db::export_best(store, filter, *text_format), options.output);
  }
  return kExitOk;
}

}  // namespace

Command add_export(CLI::App& program) {
  CLI::App* app = program.add_subcommand("export", "Write the best configs as text, code, or a bundle for a runtime");
  const auto options = std::make_shared<ExportOptions>();
  app->add_option("--format", options->format,
                  "json (all an entry rests on; can be imported), csv, markdown, header (C++17 table), bundle (configs and "
                  "cubins of one device in one file for the runtime library), landscape (all outcomes of one device, for "
                  "`tune --replay`; .zst: compressed)")
      ->type_name("FORMAT")->required();
  app->add_option("-o,--output", options->output, "Write here instead of stdout; needed for bundle and landscape")->type_name("FILE");
  app->add_option("--type", options->type, "Only this type pair")->type_name("PAIR")->group("Filters");
  app->add_option("--trans", options->trans, "Only these transposes")->type_name("TRANS")->group("Filters");
  app->add_option("--family", options->family, "Only configs of this family")->type_name("NAME")->group("Filters");
  app->add_option("--device", options->device,
                  "Only devices whose text contains this; bundle and landscape need exactly one (see `tilesmith devices`)")
      ->type_name("TEXT")->group("Filters");
  add_database_option(*app, options->db);
  app->footer(
      "A bundle also holds the generic kernels of every type pair and transposes. Kernels that are not in the database are\n"
      "compiled, if NVRTC is there. Files are written whole or not at all.\n"
      "\nExamples:\n"
      "  tilesmith export --format markdown\n"
      "  tilesmith export --format bundle --device Orin --db orin.db -o orin.tsb");
  return {app, [options] { return run_export(*options); }};
}

}  // namespace tilesmith::tuner
