// NVRTC, opened at run time: the functions that the compiler calls, and the CUDA headers that belong to it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace tilesmith::runtime {

/// The oldest release that compiles for sm_90a and knows every option used here.
inline constexpr int kOldestNvrtcMajor = 12;

// clang-format off
// X(name in the table, name in libnvrtc, result, parameters)
#define TILESMITH_NVRTC_FUNCTIONS(X)                                                                              \
  X(version, "nvrtcVersion", int, (int* major, int* minor))                                                       \
  X(error_text, "nvrtcGetErrorString", const char*, (int result))                                                 \
  X(create, "nvrtcCreateProgram", int, (Program* program, const char* source, const char* name, int header_count, \
    const char* const* headers, const char* const* header_names))                                                 \
  X(destroy, "nvrtcDestroyProgram", int, (Program* program))                                                      \
  X(add_name, "nvrtcAddNameExpression", int, (Program program, const char* expression))                            \
  X(compile, "nvrtcCompileProgram", int, (Program program, int option_count, const char* const* options))         \
  X(log_size, "nvrtcGetProgramLogSize", int, (Program program, std::size_t* bytes))                               \
  X(log, "nvrtcGetProgramLog", int, (Program program, char* text))                                                \
  X(cubin_size, "nvrtcGetCUBINSize", int, (Program program, std::size_t* bytes))                                  \
  X(cubin, "nvrtcGetCUBIN", int, (Program program, char* bytes))                                                  \
  X(ptx_size, "nvrtcGetPTXSize", int, (Program program, std::size_t* bytes))                                      \
  X(ptx, "nvrtcGetPTX", int, (Program program, char* text))
// clang-format on

/// Declared here and not taken from <nvrtc.h>, which the wheels keep apart from the other headers. `int` stands for
/// nvrtcResult, where 0 is success.
struct Nvrtc {
  using Program = struct NvrtcProgram*;

#define TILESMITH_DECLARE(name, symbol, result, parameters) result(*name) parameters = nullptr;
  TILESMITH_NVRTC_FUNCTIONS(TILESMITH_DECLARE)
#undef TILESMITH_DECLARE

  int major = 0, minor = 0;
  std::filesystem::path file;                          ///< the library that was opened
  std::vector<std::filesystem::path> include_folders;  ///< of cuda_fp16.h, cuda_bf16.h, mma.h and crt/mma.h
};

/// Opened once; thread-safe. Throws std::runtime_error with nvrtc_unavailable_because() if it is not usable.
const Nvrtc& nvrtc();

/// Puts another table in its place for as long as it lives: how the compiler is tested where there is none, or where it
/// is to fail. Not thread-safe.
class [[nodiscard]] ScopedNvrtc {
 public:
  explicit ScopedNvrtc(const Nvrtc& table);
  ~ScopedNvrtc();
  ScopedNvrtc(const ScopedNvrtc&) = delete;
  ScopedNvrtc& operator=(const ScopedNvrtc&) = delete;

 private:
  const Nvrtc* former_;
};

}  // namespace tilesmith::runtime
