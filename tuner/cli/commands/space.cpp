// tilesmith space: parameters of a family or of a kernel of one's own, the rules that prune them, and what is left.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "kernels/families/space.hpp"
#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/options/options.hpp"
#include "tuner/cli/options/own_kernel.hpp"
#include "tuner/cli/options/target.hpp"
#include "tuner/cli/output/output.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/cli/output/terminal.hpp"
#include "tuner/figures.hpp"

namespace tilesmith::tuner {
namespace {

struct SpaceOptions {
  std::string family, type = "f16f32", trans = "NN", arch;
  OwnKernelOptions own;
  std::vector<std::string> with;
  bool list = false, ladder = false;
};

/// `title`: what the space is of.
std::string as_text(const std::string& title, const Space& space, std::size_t width) {
  std::string out = title + "\n\n";
  TextTable parameters({"parameter", "values", "meaning"});
  for (const Parameter& parameter : space.parameters) {
    parameters.add({parameter.name, fmt::format("{}", fmt::join(parameter.values, " ")), parameter.meaning});
  }
  out += parameters.text(width);
  out += fmt::format("\n{} combinations\n", format_count(space.combinations));
  TextTable rules({">removed", "rule", "because"});
  for (const RuleCount& rule : space.removed) rules.add({format_count(rule.removed), rule.rule, rule.reason});
  if (!rules.empty()) out += "\n" + rules.text(width) + "(a combination counts at the first rule that removes it)\n";
  return out + fmt::format("\n{} legal configs (--list prints them)\n", format_count(space.configs.size()));
}

/// A space is one of kernels: of the fields that tune's --with takes, those of a signature, and how many entries a
/// batch has.
KernelSignature signature_of(const TypePair& type, Transposes trans, const std::vector<std::string>& with) {
  constexpr std::int64_t kAnySize = 1024;
  const std::vector<std::string> fields = split_commas(with);
  for (const std::string& field : fields) {
    const std::string_view field_name = std::string_view(field).substr(0, field.find('='));
    for (const char* of_shape : {"lda", "ldb", "ldc", "align", "beta", "stride_a", "stride_b", "stride_c"}) {
      if (field_name == of_shape)
        throw UsageError(fmt::format(
            "--with '{}': kernels serve any; expected epilogue=, batch_mode=, scalars=, sparsity=, or batch= with a batch_mode=",
            field));
    }
  }
  return with_fields(packed_problem({type, trans}, kAnySize, kAnySize, kAnySize), fields).signature();
}

int write_space(const std::string& title, const Space& space, bool list) {
  if (!list) {
    write_result(as_text(title, space, stdout_width()));
    return kExitOk;
  }
  std::string lines;
  for (const Config& config : space.configs) lines += config.text() + '\n';
  write_result(lines);
  return kExitOk;
}

int write_space_of_own(const SpaceOptions& options, const DeviceLimits& limits) {
  const own::Kernel& kernel = load_own_kernel(options.own);
  const SizedKernel sized = sized_kernel(kernel, options.own);
  const std::string& summary = kernel.definition().summary;
  return write_space(
      fmt::format("{}{}{}\n{} on {}", kernel.name(), summary.empty() ? "" : ": ", summary, text(sized), limits.arch),
      kernel.space(sized, limits), options.list);
}

int run_space(const SpaceOptions& options) {
  const auto limits_asked = [&] {
    return options.arch.empty() ? require_device(0, "use --arch ARCH").limits : require_arch(options.arch);
  };
  if (!options.own.folder.empty()) return write_space_of_own(options, limits_asked());
  if (options.family.empty()) throw UsageError("--family: is missing, expected it or --kernel");
  const std::vector<std::string> named = parse_families({options.family});
  if (named.size() != 1) throw UsageError(fmt::format("--family '{}': expected one family", options.family));
  const Family& family = *find_family(named.front());
  const std::vector<TypePair> types = parse_types({options.type});
  if (types.size() != 1) throw UsageError(fmt::format("--type '{}': expected one type pair", options.type));
  const std::vector<Transposes> trans = parse_trans({options.trans});
  if (trans.size() != 1) throw UsageError(fmt::format("--trans '{}': expected one of NN, NT, TN, TT", options.trans));
  const DeviceLimits limits = limits_asked();
  const KernelTarget target{signature_of(types.front(), trans.front(), options.with), limits};
  if (!family.supports(target)) {
    const bool plain = target.signature() == KernelSignature{target.type, target.trans};
    throw UsageError(fmt::format("--family {}: has no kernel for {} on {}", family.name(),
        plain ? std::string(target.type.name) : text(target.signature()), limits.arch));
  }
  if (options.ladder) {
    std::string lines;
    for (const NamedConfig& step : family.ladder(target))
      lines += fmt::format("{}: {}\n", step.name, step.config.text());
    if (lines.empty()) spdlog::warn("the family {} has no ladder for {}", family.name(), text(target.signature()));
    write_result(lines);
    return kExitOk;
  }
  return write_space(
      fmt::format("{}: {}\n{} on {}", family.name(), family.summary(), text(target.signature()), limits.arch),
      enumerate_space(family, target), options.list);
}

}  // namespace

Command add_space(CLI::App& program) {
  const auto [app, options, add] = new_command<SpaceOptions>(program, "space",
      "The parameters of a family or of a kernel of your own, the rules that prune them, and the legal configs");
  std::string known;
  for (const auto& family : families()) known += fmt::format("\n  {:<8} {}", family->name(), family->summary());
  CLI::Option* family = add("--family", options->family, "NAME", "Which family");
  add_own_kernel_options(*app, options->own)->excludes(family);
  add("--type", options->type, "PAIR", "Type pair");
  add("--trans", options->trans, "TRANS", "NN, NT, TN or TT");
  add("--with", options->with, "FIELD=VALUE,..",
      "Fields as tune's --with has them, comma-separated or repeated: epilogue= with words joined by +, batch_mode= "
      "strided, pointers or grouped, batch= with one of them, scalars=device");
  add("--arch", options->arch, "ARCH", fmt::format("{}; default: that of the GPU here", supported_archs()));
  CLI::Option* list = app->add_flag("--list", options->list, "Print every legal config, one a line");
  app->add_flag("--ladder", options->ladder, "Print the named configs of the known ladder, slowest first")
      ->excludes(list)
      ->needs(family);
  app->footer("Families, beside those that --family-dir brings:" + known +
              "\n\nExamples:\n  tilesmith space --family wmma --type bf16f32 --arch sm_87"
              "\n  tilesmith space --family simt --type f32f32 --with batch_mode=strided --arch sm_87"
              "\n  tilesmith space --kernel softmax/ --sizes rows=4096,cols=1000 --arch sm_87");
  return {app, [options = options] { return run_space(*options); }};
}

}  // namespace tilesmith::tuner
