// Loaded kernels, and launching them by hand.
#include <elf.h>
#include <fmt/format.h>

#include <array>
#include <climits>
#include <cstring>
#include <string_view>

#include "runtime/driver/device.hpp"
#include "runtime/driver/driver.hpp"

namespace tilesmith::runtime {
namespace {

bool is_elf(std::span<const std::byte> image) {
  return image.size() >= SELFMAG && std::memcmp(image.data(), ELFMAG, SELFMAG) == 0;
}

/// The driver is told no size: it reads as far as the image's headers say. A truncated image must not get that far.
std::string image_error(std::span<const std::byte> image) {
  if (image.empty()) return "the image is empty";
  if (!is_elf(image)) return {};  // PTX, passed on as text
  Elf64_Ehdr header{};
  if (image.size() < sizeof header) return "the cubin is shorter than an ELF header";
  std::memcpy(&header, image.data(), sizeof header);
  const auto fits = [&](std::uint64_t offset, std::uint64_t entry_bytes, std::uint64_t count) {
    return offset <= image.size() && entry_bytes * count <= image.size() - offset;
  };
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || !fits(header.e_shoff, header.e_shentsize, header.e_shnum) ||
      !fits(header.e_phoff, header.e_phentsize, header.e_phnum)) {
    return fmt::format("the cubin is truncated or corrupt ({} bytes)", image.size());
  }
  if (header.e_shentsize != sizeof(Elf64_Shdr)) return "the cubin's section table has another format";
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section{};
    std::memcpy(&section, image.data() + header.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type == SHT_PROGBITS && !fits(section.sh_offset, section.sh_size, 1)) {
      return fmt::format("the cubin is truncated or corrupt ({} bytes)", image.size());
    }
  }
  return {};
}

CUmodule load(const Driver& table, const void* image) {
  // The driver's own words, if it has any: e.g. why its JIT compiler refuses a PTX text.
  std::array<char, 4096> log{};
  std::array<CUjit_option, 2> options{CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(log.size() - 1)};
  CUmodule module = nullptr;
  const CUresult result = table.module_load(&module, image, unsigned(options.size()), options.data(), values.data());
  if (result == CUDA_SUCCESS) return module;
  log.back() = '\0';
  const std::string_view text(log.data());
  const std::string_view first_line = text.substr(0, text.find('\n'));
  std::string message = describe(table, result, "cuModuleLoadDataEx");
  if (!first_line.empty()) message += fmt::format(": {}", first_line);
  throw DeviceError(result, message);
}

}  // namespace

Module::Module(std::span<const std::byte> cubin) {
  const Driver& table = driver();
  if (const std::string error = image_error(cubin); !error.empty()) {
    throw DeviceError(CUDA_ERROR_INVALID_IMAGE, fmt::format("cuModuleLoadDataEx: {}", error));
  }
  if (is_elf(cubin)) {
    module_.reset(load(table, cubin.data()));
  } else {
    const std::string ptx(reinterpret_cast<const char*>(cubin.data()), cubin.size());  // NUL-terminated
    module_.reset(load(table, ptx.c_str()));
  }
}

CUfunc_st* Module::function(const std::string& entry, std::size_t dynamic_smem_bytes) const {
  const Driver& table = driver();
  CUfunction function = nullptr;
  if (const CUresult result = table.module_get_function(&function, module_.get(), entry.c_str());
      result != CUDA_SUCCESS) {
    throw DeviceError(result, describe(table, result, fmt::format("cuModuleGetFunction '{}'", entry)));
  }
  if (dynamic_smem_bytes == 0) return function;
  // Only ever raised: another plan of this kernel may have been promised more.
  int now = 0;
  table.func_get_attribute(&now, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function);
  if (dynamic_smem_bytes > std::size_t(now)) {
    const CUresult result = dynamic_smem_bytes > INT_MAX
                                ? CUDA_ERROR_INVALID_VALUE
                                : table.func_set_attribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                      int(dynamic_smem_bytes));
    if (result != CUDA_SUCCESS) {
      throw DeviceError(result, describe(table, result,
                                    fmt::format("cuFuncSetAttribute: {} bytes of dynamic shared memory for '{}'",
                                        dynamic_smem_bytes, entry)));
    }
  }
  // Else the driver may give an SM less shared memory than the blocks that would fit in it need. Only a preference.
  table.func_set_attribute(
      function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, CU_SHAREDMEM_CARVEOUT_MAX_SHARED);
  return function;
}

std::byte* Module::variable(const std::string& name, std::size_t bytes) const {
  const Driver& table = driver();
  CUdeviceptr address = 0;
  std::size_t size = 0;
  CUresult result = table.module_get_global(&address, &size, module_.get(), name.c_str());
  if (result == CUDA_SUCCESS && size < bytes) result = CUDA_ERROR_INVALID_VALUE;
  if (result != CUDA_SUCCESS)
    throw DeviceError(
        result, describe(table, result, fmt::format("cuModuleGetGlobal '{}' of at least {} bytes", name, bytes)));
  return reinterpret_cast<std::byte*>(address);
}

void launch(CUfunc_st* function, const unsigned grid[3], const unsigned block[3], std::size_t dynamic_smem_bytes,
    const Stream& stream, void** parameters) {
  check(driver().launch_kernel(function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
            unsigned(dynamic_smem_bytes), stream.get(), parameters, nullptr),
      "cuLaunchKernel");
}

}  // namespace tilesmith::runtime
