// time_variants FILE [--cubins FOLDER]
//
// Times kernels whose text was altered beside those of the tree, for whoever looks for what a kernel waits for. A line of
// FILE names one; kernels up to an empty line are timed in turns, on one set of operands:
//
//   label | folder | problem | config
//
// Files of the tree's kernels that are in the folder (kernels/wgmma/copy.cuh, ...) take the place of those; - means the
// tree's own text. Registers, spills and whether wgmma products wait for each other are printed first, which needs no
// GPU. Then the time is printed, a median of graphs of ten launches on operands that are not in the L2, and what the suite
// says of the kernel. Configs that break a rule are timed too, and named. --cubins keeps what was compiled.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <future>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "kernels/problem/operand.hpp"
#include "runtime/compile/compiler.hpp"
#include "runtime/plan/plan.hpp"
#include "tests/gpu/planted_bug.hpp"
#include "tuner/verify/verifier.hpp"

namespace tilesmith {
namespace {

constexpr int kLaunches = 10, kRounds = 12, kFirstRounds = 2;  // of a graph; the first rounds do not count
constexpr double kRotatedBytes = 1.5e8;                        // more than the L2 holds

[[noreturn]] void fail(const std::string& why) {
  std::cerr << "time_variants: " << why << '\n';
  std::exit(1);
}

struct Variant {
  std::string label, folder;
  Problem problem;
  Config config;
  runtime::SourceBuild build;
  std::optional<runtime::Graph> graph;
  std::vector<double> us;
  std::string verdict;
};

std::vector<std::vector<Variant>> read(const char* path) {
  std::ifstream file(path);
  if (!file) fail(std::string(path) + ": cannot be read");
  std::vector<std::vector<Variant>> groups(1);
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) groups.emplace_back();
    if (line.empty() || line[0] == '#') continue;
    std::stringstream fields(line);
    std::string text[4], error;
    for (std::string& field : text) {
      std::getline(fields, field, '|');
      field.erase(0, field.find_first_not_of(' '));
      field.erase(field.find_last_not_of(' ') + 1);
    }
    const std::optional<Problem> problem = parse_problem(text[2], error);
    const std::optional<Config> config = Config::parse(text[3]);
    if (!problem || !config) fail(line + ": expected label | folder | problem | config");
    groups.back().push_back({text[0], text[1] == "-" ? "" : text[1], *problem, *config, {}, {}, {}, {}});
  }
  std::erase_if(groups, [](const auto& group) { return group.empty(); });
  return groups;
}

void build(Variant& variant, const DeviceLimits& limits) {
  const KernelTarget target{variant.problem, limits};
  const Family* const family = find_family(variant.config.family());
  if (family == nullptr) fail(variant.label + ": there is no family " + std::string(variant.config.family()));
  if (const auto why = illegal_because(*family, variant.config, target)) variant.verdict = "illegal: " + *why + "; ";
  std::vector<std::string> seen;
  variant.build =
      runtime::compile_source(planted::spliced(family->source(variant.config, target), seen, variant.folder),
          variant.label, "gemm", runtime::compiler_options(target));
}

/// Random bytes; of floats numbers of about 1.
runtime::DeviceBuffer random_operand(const OperandMatrix& matrix, bool codes, std::mt19937& random) {
  std::vector<std::uint32_t> words(std::size_t(matrix.bytes()) / 4 + 4);
  const bool wide = matrix.element == Scalar::f32,
             half = matrix.element == Scalar::bf16 || matrix.element == Scalar::f16;
  for (std::uint32_t& word : words) {
    word = std::uint32_t(random());
    if (wide) word = 0x3f000000u | (word & 0x7fffffu);
    if (half) word = 0x38003800u | (word & 0x83ff83ffu);
    if (matrix.element == Scalar::e4m3 && !codes) word &= 0xbfbfbfbfu;  // no NaN
  }
  runtime::DeviceBuffer buffer(words.size() * sizeof words[0]);
  buffer.upload(std::as_bytes(std::span(words)));
  return buffer;
}

void time_group(std::vector<Variant>& group, const runtime::Context& context, tuner::Verifier& verifier) {
  const Problem& problem = group.front().problem;
  runtime::Stream stream;
  std::mt19937 random(1);
  double bytes = 0;
  for (const OperandMatrix& matrix : operands(problem)) bytes += double(matrix.bytes());
  std::vector<runtime::DeviceBuffer> memory;
  std::vector<runtime::RunArgs> sets(std::size_t(std::clamp(kRotatedBytes / bytes + 1, 2.0, 12.0)));
  for (runtime::RunArgs& args : sets) {
    args.stream = stream.get();
    args.alpha = runtime::to_scale(problem.type, 1);
    args.beta = runtime::to_scale(problem.type, 0);
    for (const OperandMatrix& matrix : operands(problem)) {
      memory.push_back(random_operand(matrix, has_weights(problem) && matrix.role == OperandRole::b, random));
      args.set(matrix.role, memory.back().data());
    }
  }
  std::vector<std::unique_ptr<runtime::Plan>> plans;
  for (Variant& variant : group) {
    if (!variant.build.ok) continue;
    const auto module = std::make_shared<const runtime::Module>(variant.build.cubin);
    const KernelTarget target{problem, context.info().limits};
    const db::Outcome outcome = verifier.suite(module, variant.config, target, tuner::Suite::each_shape_once);
    variant.verdict += std::string(db::name(outcome.status)) + " " + outcome.message;
    plans.push_back(std::make_unique<runtime::Plan>(module, variant.config, problem));
    memory.emplace_back(std::max<std::size_t>(16, plans.back()->workspace_bytes()));
    for (runtime::RunArgs& args : sets) args.workspace = memory.back().data();
    const auto enqueue = [&] {
      for (int i = 0; i < kLaunches; ++i) {
        if (const int code = plans.back()->run(sets[std::size_t(i) % sets.size()]))
          fail(variant.label + ": error " + std::to_string(code));
      }
    };
    enqueue();
    stream.synchronize();
    variant.graph = runtime::Graph::capture(stream, enqueue);
  }
  runtime::Event begin, end;
  for (int round = 0; round < kRounds; ++round) {
    for (Variant& variant : group) {
      if (!variant.graph) continue;
      begin.record(stream);
      variant.graph->launch(stream);
      end.record(stream);
      end.synchronize();
      if (round >= kFirstRounds) variant.us.push_back(end.elapsed_us_since(begin) / kLaunches);
    }
  }
  for (Variant& variant : group) {
    if (variant.us.empty()) continue;
    std::ranges::nth_element(variant.us, variant.us.begin() + std::ptrdiff_t(variant.us.size() / 2));
    const double us = variant.us[variant.us.size() / 2];
    const double operations =
        2.0 * double(problem.m) * double(problem.n) * double(problem.k) * double(problem.entries());
    std::printf(
        "%-30s %9.2f us %7.0f T/s  %s\n", variant.label.c_str(), us, operations / us / 1e6, variant.verdict.c_str());
  }
  std::printf("\n");
}

int run(int argc, char** argv) {
  if (argc != 2 && (argc != 4 || std::string(argv[2]) != "--cubins")) fail("expected FILE [--cubins FOLDER]");
  std::vector<std::vector<Variant>> groups = read(argv[1]);
  std::vector<Variant*> all;
  for (auto& group : groups) {
    for (Variant& variant : group) all.push_back(&variant);
  }
  const bool there = runtime::device_unavailable_because().empty();
  const DeviceLimits limits = there ? runtime::device_info(0).limits : limits_for_arch("sm_90a").value();
  std::vector<std::future<void>> jobs;
  const std::size_t count = std::max(1u, std::thread::hardware_concurrency());
  for (std::size_t job = 0; job < count; ++job) {
    jobs.push_back(std::async(std::launch::async, [&, job] {
      for (std::size_t i = job; i < all.size(); i += count) build(*all[i], limits);
    }));
  }
  for (std::future<void>& job : jobs) job.get();
  for (const Variant* variant : all) {
    const runtime::SourceBuild& built = variant->build;
    std::printf("%-30s %s, %d registers, %d bytes spilled%s\n", variant->label.c_str(),
        built.ok ? "compiled" : built.log.c_str(), built.registers, built.spill_bytes,
        built.log.find("(C751") != std::string::npos ? ", its products wait for each other" : "");
    if (argc == 4)
      std::ofstream(std::string(argv[3]) + "/" + variant->label + ".cubin", std::ios::binary)
          .write(reinterpret_cast<const char*>(built.cubin.data()), std::streamsize(built.cubin.size()));
  }
  if (!there) return 0;
  const runtime::Context context(0);
  tuner::Verifier verifier{context};
  for (auto& group : groups) time_group(group, context, verifier);
  return 0;
}

}  // namespace
}  // namespace tilesmith

int main(int argc, char** argv) { return tilesmith::run(argc, argv); }
