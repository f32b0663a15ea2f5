// A kernel of a user's own: CUDA source, and what kernel.json says of it. It is tuned at given sizes (SizedKernel).
//
// Expressions are those of families of one's own (kernels/families/user/expression.hpp). They read sizes and
// parameters; rules read the device's limits besides.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/families/launch.hpp"
#include "kernels/families/space.hpp"
#include "kernels/families/user/parts.hpp"
#include "kernels/problem/task.hpp"

namespace tilesmith::own {

/// What elements of buffers and values are, by their names in kernel.json: "f32", "bf16", "s64", ...
struct ElementType {
  std::string_view name, in_cuda;  ///< "bf16", "__nv_bfloat16"
  std::size_t bytes;
  std::optional<Scalar> real = {};  ///< of floating-point numbers

  bool is_float() const { return real.has_value(); }
  bool is_unsigned() const { return name.starts_with('u'); }
};
std::span<const ElementType> element_types();
const ElementType* find_element_type(std::string_view name);

/// `scratch` has undefined content, and nobody looks at what a kernel leaves there. `constant` is no argument of the
/// kernels: before they are launched the buffer is copied to the __constant__ array of its name.
enum class Role { in, out, inout, scratch, constant, value };
inline bool is_result(Role role) { return role == Role::out || role == Role::inout; }
/// Kernels read it, and must not write to it.
inline bool is_input(Role role) { return role == Role::in || role == Role::constant; }

/// What a buffer holds before a launch. `ramp`: 0, 1, 2, ...; `uniform` and `normal` are around 0, with a largest and a
/// standard deviation of 1; `integers` are -8 to 8, of unsigned types 0 to 8; `file`: the bytes of a file, which has as
/// many as the buffer.
enum class Fill { uniform, normal, integers, ramp, zeros, file };

/// The most arguments that a kernel may have.
inline constexpr std::size_t kMostArguments = 64;

/// A result is right if it differs from the expected one by no more than `absolute` + `relative` × |expected|. Both 0:
/// it must be equal.
struct Tolerance {
  double absolute = 0, relative = 0;
};

struct Argument {
  std::string name;
  Role role = Role::in;
  const ElementType* type = nullptr;
  std::vector<Expression> extents;  ///< of a buffer, whose elements are their product
  Fill fill = Fill::uniform;
  std::filesystem::path file = {};          ///< of Fill::file
  std::optional<Expression> value;          ///< of an integer
  double real = 0;                          ///< of an f32 or f64
  std::optional<Tolerance> tolerance = {};  ///< of a result that is compared with the reference's
  std::filesystem::path expected = {};      ///< the file with the bytes that a result must have, if there is one
};

/// Results are compared with those of plain kernels, or with files (Argument::expected). The launches of the plain
/// kernels may read sizes, but no parameters.
struct Reference {
  std::string text;
  std::vector<UserLaunch> launches;  ///< none: files
};

struct Definition {
  std::string name, summary;
  std::string text;                      ///< of the source, with the files that it includes
  std::string content;                   ///< a hash of kernel.json, of the texts and of the files
  std::string proof;                     ///< a hash of all that says when a result is right
  std::vector<SizedKernel::Size> sizes;  ///< with their values where none are given
  std::vector<Argument> arguments;       ///< in the kernels' order
  std::vector<Parameter> parameters;
  std::vector<UserRule> rules;
  std::vector<UserLaunch> launches;  ///< in their order
  std::optional<Reference> reference;
  std::vector<SizedKernel> proof_sizes;  ///< at which kernels are proven beside the tuned sizes
  bool deterministic = true;
  std::optional<Expression> operations, bytes;  ///< of one run
};

/// Immutable; all functions may be called by several threads at once. Sizes are those of a task of this kernel, for
/// which sizes_error() is empty.
class Kernel {
 public:
  explicit Kernel(Definition definition) : parts_(std::make_shared<const Definition>(std::move(definition))) {}

  const Definition& definition() const { return *parts_; }
  const std::string& name() const { return parts_->name; }

  /// A task of the kernel with these sizes; those that are not given have the values of kernel.json.
  SizedKernel at(std::span<const SizedKernel::Size> given) const;
  /// One line if the task's sizes are not the kernel's, in its order, or if an argument has no extent or value at them.
  std::optional<std::string> sizes_error(const SizedKernel& sized) const;

  /// The legal configs: every rule holds, and the launches can be launched on such a device.
  Space space(const SizedKernel& sized, const DeviceLimits& limits) const;
  std::optional<std::string> refused_because(
      const Config& config, const SizedKernel& sized, const DeviceLimits& limits) const;

  /// The source text for NVRTC: the config as a comment, a #define for each parameter that is no template argument, and
  /// the user's text. `delayed`: with random delays of some warps, so that a kernel which lacks a __syncthreads() goes
  /// wrong when it is proven.
  std::string source(const Config& config, bool delayed = false) const;
  bool shares_memory() const;  ///< among threads of a block
  /// The names of the kernels that are launched, with values for template arguments. NVRTC instantiates these.
  std::vector<std::string> entries(const Config& config) const;
  /// Entries are as entries() has them. Throws std::invalid_argument if a launch cannot be: refused_because() says so
  /// before.
  std::vector<Launch> launches(const Config& config, const SizedKernel& sized) const;
  /// The launches of the reference. Precondition: kernel.json names one.
  std::vector<Launch> reference_launches(const SizedKernel& sized) const;
  /// How many elements a buffer has along each dimension. Throws std::invalid_argument if their product is not 1 to
  /// kMaxSize.
  std::vector<std::int64_t> extents(const Argument& argument, const SizedKernel& sized) const;
  std::int64_t elements(const Argument& argument, const SizedKernel& sized) const;
  /// The value of an integer argument. Throws std::invalid_argument if its type cannot hold it.
  std::int64_t integer(const Argument& argument, const SizedKernel& sized) const;
  /// The bytes of all buffers together.
  double buffer_bytes(const SizedKernel& sized) const;
  /// What kernel.json says that a run does and moves; 0: it says nothing.
  double operations(const SizedKernel& sized) const { return work(parts_->operations, sized); }
  double bytes(const SizedKernel& sized) const { return work(parts_->bytes, sized); }

 private:
  double work(const std::optional<Expression>& of, const SizedKernel& sized) const;
  std::vector<Launch> launches(
      const std::vector<UserLaunch>& from, const SizedKernel& sized, const Config* config) const;
  std::vector<Rule> rules(const SizedKernel& sized, const DeviceLimits& limits) const;

  std::shared_ptr<const Definition> parts_;
};

/// The kernel of that name among those that this process has loaded (kernels/families/user/load.hpp), or nullptr. It
/// stays for good. Thread-safe.
const Kernel* find_kernel(std::string_view name);
/// The same; throws std::invalid_argument if it is not loaded.
const Kernel& kernel_of(const SizedKernel& sized);

/// As those of families (kernels/families/plan_hash.hpp): empty if the kernel is not loaded, or the config is none of its.
std::string kernel_hash(const Config& config, std::string_view options);
std::string plan_hash(const Config& config, const SizedKernel& sized, std::string_view options);

/// A file of a buffer's bytes, as they lie in memory. Throws DefinitionError.
std::vector<std::byte> read_bytes(const std::filesystem::path& path);

/// From `folder`/kernel.json and the files that it names. All is checked here. Throws DefinitionError naming file and
/// field.
std::unique_ptr<Kernel> read_kernel(const std::filesystem::path& folder);

}  // namespace tilesmith::own
