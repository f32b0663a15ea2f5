#include "tuner/peaks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "kernels/own/kernel.hpp"
#include "kernels/problem/operand.hpp"
#include "tuner/figures.hpp"

namespace tilesmith::tuner {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// Operations that one SM finishes a clock, dense; 0: unknown. `full_rate`: false for GeForce, whose f32 accumulation
/// runs at half rate.
int ops_per_clock_per_sm(int sm, const TypePair& type, bool full_rate) {
  const auto limits = limits_for_sm(sm);
  if (!limits) return 0;
  const auto& [f16, tf32, int8, f64, f32, halved_on_geforce] = limits->peak;
  const int halving = halved_on_geforce && !full_rate && type.accumulator == Scalar::f32 ? 2 : 1;
  switch (type.a) {
    case Scalar::f16:
    case Scalar::bf16: return f16 / halving;
    case Scalar::tf32: return tf32 / halving;
    case Scalar::s8:
    case Scalar::u8: return int8;
    case Scalar::e4m3:
    case Scalar::e5m2: return limits->features.fp8 ? int8 : 0;  // as many as of 8-bit integers
    case Scalar::f64: return f64;
    case Scalar::f32: return f32;
    case Scalar::f32x3: return tf32 / halving / 3;
    // The A100's sheet has twice and eight times the operations of int8, which is taken for the others.
    case Scalar::s4:
    case Scalar::u4: return limits->features.four_bit_products ? 2 * int8 : int8;
    case Scalar::b1: return 8 * int8;
    case Scalar::b1xor: return limits->features.xor_products ? 8 * int8 : 4 * int8;
    case Scalar::s32: break;
  }
  return 0;
}

}  // namespace

double rated_clock_mhz(const db::DeviceIdentity& device, const TypePair& type, double clock_mhz) {
  const auto limits = limits_for_sm(device.sm);
  for (const RatedClock& rated : limits ? limits->rated_clocks : std::span<const RatedClock>{}) {
    if (contains(device.name, rated.name_part) && contains(device.power_mode, rated.power_mode_part)) {
      return type.a == Scalar::f64 || type.a == Scalar::f32 ? rated.other_mhz : rated.tensor_mhz;
    }
  }
  return clock_mhz;
}

std::optional<double> peak_tflops(const db::DeviceIdentity& device, const TypePair& type, double clock_mhz) {
  if (!db::ran_as(device).empty()) return std::nullopt;  // one architecture's code on the units of another
  const bool full_rate = !contains(device.name, "GeForce");
  const double mhz = rated_clock_mhz(device, type, clock_mhz);
  const double tflops = double(ops_per_clock_per_sm(device.sm, type, full_rate)) * device.sm_count * mhz * 1e-6;
  if (!(tflops > 0)) return std::nullopt;
  return tflops;
}

double moved_bytes(const Problem& problem) {
  double bytes = 0;
  for (const OperandRole role :
      {OperandRole::a, OperandRole::b, OperandRole::d, OperandRole::weight_scales, OperandRole::weight_zeros}) {
    if (in_use(problem, role, true, true)) bytes += operand(problem, role).element_bytes();
  }
  return bytes;
}

double gbps(const Problem& problem, double us) { return us > 0 ? moved_bytes(problem) / us * 1e-3 : 0; }

double memory_gbps(const db::DeviceIdentity& device) {
  return db::ran_as(device).empty() ? device.bandwidth_class_gbps : 0;
}

std::string Rate::percent() const {
  return of_peak && *of_peak > 0 ? format_percent(*of_peak) + (memory_bound ? " memory" : "") : "-";
}

std::string Rate::text() const {
  const std::string rate = fmt::format("{} {}", format_tflops(value), unit);
  return of_peak
             ? fmt::format("{} ({} of peak{})", rate, format_percent(*of_peak), memory_bound ? " memory bandwidth" : "")
             : rate;
}

Rate rate_of(const Problem& problem, const db::DeviceIdentity& device, double us, double clock_mhz) {
  const double bandwidth = memory_gbps(device);
  const double peak = peak_tflops(device, problem.type, clock_mhz).value_or(0);
  Rate rate;
  rate.memory_bound = peak > 0 && bandwidth > 0 ? moved_bytes(problem) / bandwidth > problem.flop() * 1e-3 / peak
                                                : problem.m == 1 || problem.n == 1;
  rate.unit = rate.memory_bound ? "GB/s" : rate_unit(problem.type);
  if (!(us > 0)) return rate;
  rate.value = rate.memory_bound ? gbps(problem, us) : tflops(problem, us);
  if (const double most = rate.memory_bound ? bandwidth : peak; most > 0) rate.of_peak = rate.value / most;
  return rate;
}

double floor_us(const db::DeviceIdentity& device, const Problem& problem) {
  const double peak = peak_tflops(device, problem.type).value_or(0);
  const double bandwidth_gbps = memory_gbps(device);
  return std::max(peak > 0 ? problem.flop() / peak * 1e-6 : 0,
      bandwidth_gbps > 0 ? moved_bytes(problem) / bandwidth_gbps * 1e-3 : 0);
}

Rate rate_of(const Task& task, const db::DeviceIdentity& device, double us, double clock_mhz) {
  if (task.is_gemm()) return rate_of(task.problem(), device, us, clock_mhz);
  const own::Kernel* kernel = own::find_kernel(task.kernel().kernel);
  const double bytes = kernel == nullptr ? 0 : kernel->bytes(task.kernel()),
               operations = kernel == nullptr ? 0 : kernel->operations(task.kernel());
  if (!(us > 0) || (bytes == 0 && operations == 0)) return {};
  // The units that it uses are not known, so that a share is told of memory alone.
  const double peak_gbps = memory_gbps(device), rate_gbps = bytes / us * 1e-3;
  if (operations > 0 && bytes == 0) return {operations / us * 1e-6, false, "TFLOP/s", std::nullopt};
  return {rate_gbps, true, "GB/s", peak_gbps > 0 ? std::optional(rate_gbps / peak_gbps) : std::nullopt};
}

double floor_us(const db::DeviceIdentity& device, const Task& task) {
  if (task.is_gemm()) return floor_us(device, task.problem());
  const own::Kernel* kernel = own::find_kernel(task.kernel().kernel);
  const double peak_gbps = memory_gbps(device);
  return kernel != nullptr && peak_gbps > 0 ? kernel->bytes(task.kernel()) / peak_gbps * 1e-3 : 0;
}

double estimated_us(const db::DeviceIdentity& device, const Task& task) {
  constexpr double kLaunchUs = 2, kUsualSlowness = 2, kUnknownTflops = 10;
  const double floor = floor_us(device, task);
  const double flop = task.is_gemm() ? task.problem().flop() : 0;
  return std::max(kLaunchUs, kUsualSlowness * (floor > 0 ? floor : flop / kUnknownTflops * 1e-6));
}

double nominal_us(const Task& task) {
  static const db::DeviceIdentity nominal{
      .name = "NVIDIA H200", .sm = 90, .sm_count = 132, .bandwidth_class_gbps = 4900};
  return estimated_us(nominal, task);
}

std::optional<std::string> impossible_because(const db::DeviceIdentity& device, const Problem& problem, double us) {
  const double rate = problem.flop() / us * 1e-6;
  if (const auto peak = peak_tflops(device, problem.type); peak && rate > kFarBeyond * *peak) {
    return fmt::format(
        "{:.6g} us are {:.3g} {}, and the device's peak is {:.3g}", us, rate, rate_unit(problem.type), *peak);
  }
  // Operands are read cold, but for what the L2 may hold of them all the same; what is written may stay there.
  const double peak_gbps = memory_gbps(device);
  const double bytes = operand(problem, OperandRole::a).element_bytes() +
                       operand(problem, OperandRole::b).element_bytes() - double(device.l2_bytes);
  const double gbps = bytes / us * 1e-3;
  if (peak_gbps > 0 && gbps > kFarBeyond * peak_gbps) {
    return fmt::format("{:.6g} us are {:.3g} GB/s, and the device's memory has {:.3g}", us, gbps, peak_gbps);
  }
  return std::nullopt;
}

}  // namespace tilesmith::tuner
