#include "kernels/render.hpp"

#include <fmt/format.h>

#include <cctype>

namespace tilesmith {
namespace {

std::string_view device_type(Scalar scalar) {
  switch (scalar) {
    case Scalar::f16:
      return "__half";
    case Scalar::bf16:
      return "__nv_bfloat16";
    case Scalar::tf32:
    case Scalar::f32:
      return "float";
    case Scalar::f64:
      return "double";
    case Scalar::s8:
      return "signed char";
    case Scalar::u8:
      return "unsigned char";
    case Scalar::s32:
      return "int";
    case Scalar::e4m3:
      return "__nv_fp8_e4m3";
    case Scalar::e5m2:
      return "__nv_fp8_e5m2";
  }
  return "void";
}

bool uses(const TypePair& type, Scalar scalar) {
  return type.operand == scalar || type.accumulator == scalar || type.output == scalar;
}

}  // namespace

std::string constant_name(const std::string& parameter) {
  std::string result = "k";
  bool upper = true;
  for (char c : parameter) {
    if (c == '_') {
      upper = true;
      continue;
    }
    result += upper ? char(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = false;
  }
  return result;
}

std::string render_source(const Config& config, const KernelTarget& target, const std::string& template_path,
                          const std::string& definitions) {
  const TypePair& type = target.type;
  std::string out =
      fmt::format("// {} for {} {} on {}\n", config.text(), type.name, name(target.trans), target.limits.arch);
  if (uses(type, Scalar::f16)) out += "#include <cuda_fp16.h>\n";
  if (uses(type, Scalar::bf16)) out += "#include <cuda_bf16.h>\n";
  if (is_fp8(type.operand)) out += "#include <cuda_fp8.h>\n";
  out += "namespace tilesmith {\n";
  out += fmt::format("using Operand = {};\n", device_type(type.operand));
  out += fmt::format("using Accumulator = {};\n", device_type(type.accumulator));
  out += fmt::format("using Output = {};\n", device_type(type.output));
  out += fmt::format("using ScaleType = {};\n", device_type(type.scale));
  out += fmt::format("constexpr bool kOperandIsTf32 = {};\n", type.operand == Scalar::tf32);
  out += fmt::format("constexpr bool kOperandIsBf16 = {};\n", type.operand == Scalar::bf16);
  out += fmt::format("constexpr bool kTransA = {};\n", target.trans.a);
  out += fmt::format("constexpr bool kTransB = {};\n", target.trans.b);
  out += fmt::format("constexpr int kSm = {};\n", target.limits.sm);
  for (const Config::Value& value : config.values()) {
    out += fmt::format("constexpr int {} = {};\n", constant_name(value.first.text()), value.second);
  }
  out += "}  // namespace tilesmith\n";
  out += definitions;
  out += fmt::format("#include \"{}\"\n", template_path);
  return out;
}

}  // namespace tilesmith
