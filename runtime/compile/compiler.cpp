#include "runtime/compile/compiler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <stdexcept>

#include "kernels/families/embedded.hpp"
#include "kernels/families/tasks.hpp"
#include "kernels/own/kernel.hpp"
#include "runtime/compile/cubin_info.hpp"
#include "runtime/compile/kernel_symbols.hpp"
#include "runtime/compile/nvrtc.hpp"
#include "runtime/compile/standard_headers.hpp"

namespace tilesmith::runtime {
namespace {

/// The kernel that a module is named after (Launch::entry's default); others in it pack or reduce.
constexpr const char* kMainEntry = "gemm";

// Of nvrtcResult, what is no refusal of a source.
constexpr int kOutOfMemory = 1;  // NVRTC_ERROR_OUT_OF_MEMORY
constexpr int kNoBuiltins = 7;   // NVRTC_ERROR_BUILTIN_OPERATION_FAILURE: libnvrtc-builtins is not beside it

/// An NVRTC program and its results; destroys itself.
class Program {
 public:
  Program(const Nvrtc& nvrtc, const std::string& source, const std::string& name) : nvrtc_(nvrtc) {
    std::vector<std::string> texts, names;  // NVRTC wants NUL-terminated text
    std::vector<const char*> text_pointers, name_pointers;
    const auto add = [&](const EmbeddedFile& file) {
      texts.emplace_back(file.text);
      names.emplace_back(file.name);
    };
    std::ranges::for_each(embedded_headers(), add);
    std::ranges::for_each(kStandardHeaders, add);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      text_pointers.push_back(texts[i].c_str());
      name_pointers.push_back(names[i].c_str());
    }
    check(nvrtc_.create(
              &program_, source.c_str(), name.c_str(), int(texts.size()), text_pointers.data(), name_pointers.data()),
        "nvrtcCreateProgram");
  }
  ~Program() { nvrtc_.destroy(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void add(const std::string& instance) {
    check(nvrtc_.add_name(program_, instance.c_str()), "nvrtcAddNameExpression");
  }

  /// nvrtcCompileProgram's result as text; empty if it succeeded. Throws std::bad_alloc where the host has no memory
  /// left, and std::runtime_error where NVRTC would refuse any source.
  std::string compile(const std::vector<std::string>& options) {
    std::vector<const char*> pointers;
    for (const std::string& option : options) pointers.push_back(option.c_str());
    const int result = nvrtc_.compile(program_, int(pointers.size()), pointers.data());
    if (result == kOutOfMemory) throw std::bad_alloc();
    if (result == kNoBuiltins) {
      throw std::runtime_error(
          fmt::format("nvrtcCompileProgram: {}: {}", nvrtc_.error_text(result), first_error_line(log())));
    }
    return result == 0 ? std::string() : std::string(nvrtc_.error_text(result));
  }

  std::string log() const {
    std::size_t bytes = 0;
    check(nvrtc_.log_size(program_, &bytes), "nvrtcGetProgramLogSize");
    std::string text(bytes, '\0');
    if (bytes > 0) check(nvrtc_.log(program_, text.data()), "nvrtcGetProgramLog");
    while (!text.empty() && text.back() == '\0') text.pop_back();
    return text;
  }

  /// The cubin; for a virtual target (compute_..), which has none, the PTX.
  std::vector<std::byte> binary() const {
    std::size_t bytes = 0;
    check(nvrtc_.cubin_size(program_, &bytes), "nvrtcGetCUBINSize");
    const bool is_ptx = bytes == 0;
    if (is_ptx) check(nvrtc_.ptx_size(program_, &bytes), "nvrtcGetPTXSize");
    std::vector<std::byte> result(bytes);
    char* data = reinterpret_cast<char*>(result.data());
    check(is_ptx ? nvrtc_.ptx(program_, data) : nvrtc_.cubin(program_, data), is_ptx ? "nvrtcGetPTX" : "nvrtcGetCUBIN");
    return result;
  }

 private:
  void check(int result, const char* call) const {
    if (result == kOutOfMemory) throw std::bad_alloc();
    if (result != 0) throw std::runtime_error(fmt::format("{}: {}", call, nvrtc_.error_text(result)));
  }

  const Nvrtc& nvrtc_;
  Nvrtc::Program program_ = nullptr;
};

/// What KernelBuild says of a compiled kernel's local memory; empty if it uses none.
std::string local_memory_text(const std::vector<KernelResources>& kernels) {
  std::string result;
  for (const KernelResources& kernel : kernels) {
    if (kernel.spill_bytes() == 0 && kernel.stack_bytes == 0) continue;
    if (!result.empty()) result += "; ";
    if (kernel.spill_bytes() > 0) {
      result += fmt::format("{} spills {} bytes (stores {}, loads {}) at {} registers, stack frame {} bytes",
          kernel.entry, kernel.spill_bytes(), kernel.spill_store_bytes, kernel.spill_load_bytes, kernel.registers,
          kernel.stack_bytes);
    } else {
      result += fmt::format("{} has a stack frame of {} bytes", kernel.entry, kernel.stack_bytes);
    }
  }
  return result;
}

db::KernelBuild without_cubin(db::KernelKey key, db::Status status, std::string message) {
  db::KernelBuild build;
  build.key = std::move(key);
  build.status = status;
  build.message = std::move(message);
  return build;
}

}  // namespace

db::KernelKey kernel_key(const Config& config, const KernelTarget& target, std::string nvrtc) {
  const std::string options = compiler_options_text(target);
  return {config, text(target.signature()), target.limits.arch, kernel_hash(config, target, options), options,
      std::move(nvrtc)};
}

db::KernelKey kernel_key(const Config& config, const Task& task, const DeviceLimits& limits, std::string nvrtc) {
  if (task.is_gemm()) return kernel_key(config, KernelTarget{task.problem(), limits}, std::move(nvrtc));
  const std::string options = compiler_options_text({{}, limits});
  return {config, signature_text(task), limits.arch, own::kernel_hash(config, options), options, std::move(nvrtc)};
}

SourceBuild compile_source(const std::string& source, const std::string& name, const std::string& entry,
    const std::vector<std::string>& options, const std::vector<std::string>& instances) {
  const Nvrtc& compiler = nvrtc();
  std::vector<std::string> all = options;
  all.push_back("--ptxas-options=-v");  // changes the log, not the cubin: no part of the canonical options
  for (const auto& folder : compiler.include_folders) all.push_back("--include-path=" + folder.string());

  if (!instances.empty()) {  // a user's own kernel: what nvcc would include unasked
    all.push_back("--pre-include=math.h");
    all.push_back("--pre-include=stdint.h");
  }

  SourceBuild build;
  Program program(compiler, source, name);
  for (const std::string& instance : instances) program.add(instance);
  const std::string failure = program.compile(all);
  build.ok = failure.empty();
  build.log = program.log();
  if (!build.ok) {
    if (build.log.empty()) build.log = "error: " + failure;
    return build;
  }
  build.cubin = program.binary();
  const std::vector<KernelResources> kernels = parse_resources(build.log);
  const bool has_entry =
      std::any_of(kernels.begin(), kernels.end(), [&](const KernelResources& kernel) { return kernel.entry == entry; });
  for (const KernelResources& kernel : kernels) {
    if (has_entry && kernel.entry != entry) continue;
    build.registers = std::max(build.registers, kernel.registers);
    build.spill_bytes += kernel.spill_bytes();
    build.static_smem_bytes = std::max(build.static_smem_bytes, kernel.static_smem_bytes);
  }
  return build;
}

db::KernelBuild compile(const Config& config, const KernelTarget& target) {
  db::KernelKey key = kernel_key(config, target);
  const Family* family = find_family(config.family());
  if (family == nullptr) {
    return without_cubin(std::move(key), db::Status::illegal, fmt::format("there is no family '{}'", config.family()));
  }
  if (auto reason = illegal_because(*family, config, target)) {
    return without_cubin(std::move(key), db::Status::illegal, *std::move(reason));
  }
  if (const std::string reason = nvrtc_too_old_because(target.limits); !reason.empty())
    throw std::runtime_error(reason);
  SourceBuild source =
      compile_source(family->source(config, target), config.family() + ".cu", kMainEntry, compiler_options(target));
  if (!source.ok) return without_cubin(std::move(key), db::Status::compile_failed, first_error_line(source.log));

  // A module's other kernels (packing, reduction) may not spill either: they are timed with it.
  const std::vector<KernelResources> kernels = parse_resources(source.log);
  db::KernelBuild build;
  build.key = std::move(key);
  build.registers = source.registers;
  build.static_smem_bytes = source.static_smem_bytes;
  for (const KernelResources& kernel : kernels) build.spill_bytes += kernel.spill_bytes();
  build.status = build.spill_bytes > 0 ? db::Status::spilled : db::Status::ok;
  build.message = local_memory_text(kernels);
  build.cubin = std::move(source.cubin);
  return build;
}

std::string arguments_error(const own::Kernel& kernel, std::span<const std::string> entries, const SourceBuild& build) {
  std::vector<std::size_t> expected;
  for (const own::Argument& argument : kernel.definition().arguments) {
    if (argument.role == own::Role::constant) continue;
    expected.push_back(argument.role == own::Role::value ? argument.type->bytes : sizeof(void*));
  }
  const std::vector<std::string> symbols = kernel_symbols(build.cubin);
  for (const std::string& entry : entries) {
    const auto symbol = symbol_of(symbols, entry);
    const std::vector<std::size_t> found = symbol ? parameter_bytes(build.cubin, *symbol) : std::vector<std::size_t>();
    if (!found.empty() && found != expected)
      return fmt::format("{} takes arguments of {} bytes: expected {}, those of kernel.json", entry,
          fmt::join(found, ", "), fmt::join(expected, ", "));
  }
  return {};
}

namespace {

/// Spills are told and no reason to refuse: its author may have meant them.
db::KernelBuild compile_own(const Config& config, const std::string& signature, const DeviceLimits& limits) {
  db::KernelKey key = kernel_key(config, SizedKernel{config.family(), {}}, limits);
  const own::Kernel* kernel = own::find_kernel(config.family());
  if (kernel == nullptr || key.kernel_hash.empty())
    return without_cubin(std::move(key), db::Status::illegal, fmt::format("is no config of a loaded {}", signature));
  if (const std::string reason = nvrtc_too_old_because(limits); !reason.empty()) throw std::runtime_error(reason);
  SourceBuild source = compile_source(
      kernel->source(config), config.family() + ".cu", "", compiler_options({{}, limits}), kernel->entries(config));
  if (!source.ok) return without_cubin(std::move(key), db::Status::compile_failed, first_error_line(source.log));
  if (std::string wrong = arguments_error(*kernel, kernel->entries(config), source); !wrong.empty())
    return without_cubin(std::move(key), db::Status::compile_failed, std::move(wrong));
  return {std::move(key), db::Status::ok, local_memory_text(parse_resources(source.log)), source.registers,
      source.spill_bytes, source.static_smem_bytes, std::move(source.cubin)};
}

}  // namespace

db::KernelBuild compile_for_proof(const Config& config, const std::string& signature, const DeviceLimits& limits) {
  db::KernelBuild build = compile(config, signature, limits);
  const own::Kernel* kernel = is_of_kernel(signature) ? own::find_kernel(config.family()) : nullptr;
  if (kernel != nullptr && build.status == db::Status::ok) build.delayed_cubin = delayed_cubin(*kernel, config, limits);
  return build;
}

std::vector<std::byte> delayed_cubin(const own::Kernel& kernel, const Config& config, const DeviceLimits& limits) {
  if (!kernel.shares_memory()) return {};
  return compile_source(kernel.source(config, true), kernel.name() + "_delayed.cu", "", compiler_options({{}, limits}),
      kernel.entries(config))
      .cubin;
}

db::KernelBuild compile(const Config& config, const std::string& signature, const DeviceLimits& limits) {
  if (is_of_kernel(signature)) return compile_own(config, signature, limits);
  std::string error;
  const auto of_gemm = parse_signature(signature, error);
  if (!of_gemm) return without_cubin({config, signature, limits.arch, {}, {}, {}}, db::Status::illegal, error);
  return compile(config, KernelTarget{*of_gemm, limits});
}

}  // namespace tilesmith::runtime
