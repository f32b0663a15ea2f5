#include "tuner/verify/own_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <random>
#include <stdexcept>
#include <vector>

#include "tuner/verify/number_formats.hpp"

namespace tilesmith::tuner {
namespace {

/// Random contents repeat after this many elements, so that large buffers are made quickly. The number is prime: no two
/// rows of a matrix get the same content.
constexpr std::size_t kPeriod = 1'048'573;

using Engine = std::mt19937_64;  // the same numbers everywhere, as distributions are not

/// Uniform in [0, 1), a multiple of 2^-53.
double unit(Engine& engine) { return double(engine() >> 11) * 0x1p-53; }

template <typename T>
T bits_at(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// The bits of an integer, with those of its sign above them if it has one.
std::uint64_t integer_at(const own::ElementType& type, const std::byte* at) {
  const bool has_sign = !type.is_unsigned();
  switch (type.bytes) {
    case 1: return has_sign ? std::uint64_t(bits_at<std::int8_t>(at)) : bits_at<std::uint8_t>(at);
    case 2: return has_sign ? std::uint64_t(bits_at<std::int16_t>(at)) : bits_at<std::uint16_t>(at);
    case 4: return has_sign ? std::uint64_t(bits_at<std::int32_t>(at)) : bits_at<std::uint32_t>(at);
    default: return bits_at<std::uint64_t>(at);
  }
}

double number_at(const own::ElementType& type, const std::byte* at) {
  if (type.real == Scalar::f32) return bits_at<float>(at);
  if (type.real) return decode(*type.real, at);
  const std::uint64_t integer = integer_at(type, at);
  return type.is_unsigned() ? double(integer) : double(std::int64_t(integer));
}

std::string text_at(const own::ElementType& type, const std::byte* at) {
  if (type.is_float()) return fmt::format("{:.9g}", number_at(type, at));
  const std::uint64_t integer = integer_at(type, at);
  return type.is_unsigned() ? std::to_string(integer) : std::to_string(std::int64_t(integer));
}

double normal(Engine& engine) {
  const double radius = std::sqrt(-2 * std::log(1 - unit(engine)));
  return radius * std::cos(2 * std::numbers::pi * unit(engine));
}

double drawn(const own::Argument& argument, std::uint64_t index, Engine& engine) {
  const bool has_sign = !argument.type->is_unsigned();
  switch (argument.fill) {
    case own::Fill::uniform: return has_sign ? 2 * unit(engine) - 1 : unit(engine);
    case own::Fill::normal: return normal(engine);
    case own::Fill::integers: return has_sign ? double(engine() % 17) - 8 : double(engine() % 9);
    case own::Fill::ramp: return double(index);
    case own::Fill::zeros:
    case own::Fill::file: return 0;
  }
  return 0;
}

/// Where the fill is random any integer: in [-1, 1] all would be 0 or 1.
std::uint64_t drawn_integer(const own::Argument& argument, std::uint64_t index, Engine& engine) {
  const bool any = argument.fill == own::Fill::uniform || argument.fill == own::Fill::normal;
  return any ? engine() : std::uint64_t(std::int64_t(drawn(argument, index, engine)));
}

bool is_right(const own::Tolerance& tolerance, double of_expected, double of_found) {
  if (of_expected == of_found) return true;   // infinities, too; 0 and -0
  if (std::isinf(of_expected)) return false;  // no bound that it gives is one
  return std::abs(of_found - of_expected) <= tolerance.absolute + tolerance.relative * std::abs(of_expected);
}

std::string place_of(std::int64_t index, std::span<const std::int64_t> extents) {
  std::string place;
  for (std::size_t i = extents.size(); i-- > 0;) {
    place = fmt::format("[{}]", index % extents[i]) + place;
    index /= extents[i];
  }
  return place;
}

std::string bound_text(const own::Tolerance& tolerance, const std::string& expected) {
  std::string text;
  if (tolerance.absolute > 0) text += fmt::format(" within {:g}", tolerance.absolute);
  if (tolerance.relative > 0)
    text += fmt::format("{} {:g} × {}", text.empty() ? " within" : " +", tolerance.relative, expected);
  return text;
}

}  // namespace

void read_own(const own::Argument& argument, const std::filesystem::path& file, std::span<std::byte> buffer) {
  const std::vector<std::byte> bytes = own::read_bytes(file);
  if (bytes.size() != buffer.size())
    throw std::runtime_error(fmt::format(
        "{} has {} bytes: expected {}, those of {}", file.string(), bytes.size(), buffer.size(), argument.name));
  std::ranges::copy(bytes, buffer.begin());
}

void fill_own(const own::Argument& argument, std::uint64_t seed, std::span<std::byte> buffer) {
  if (argument.fill == own::Fill::file) return read_own(argument, argument.file, buffer);
  const std::size_t bytes = argument.type->bytes;
  const std::optional<Scalar> scalar = argument.type->real;
  Engine engine(seed);
  const bool repeats = argument.fill != own::Fill::ramp;
  const std::size_t drawn_bytes = repeats ? std::min(buffer.size(), kPeriod * bytes) : buffer.size();
  for (std::size_t at = 0; at + bytes <= drawn_bytes; at += bytes) {
    if (scalar) {
      encode(*scalar, drawn(argument, at / bytes, engine), buffer.data() + at);
    } else {
      const std::uint64_t integer = drawn_integer(argument, at / bytes, engine);
      std::memcpy(buffer.data() + at, &integer, bytes);  // the lowest, as devices have them first
    }
  }
  for (std::size_t at = drawn_bytes; at < buffer.size(); at += drawn_bytes)
    std::memcpy(buffer.data() + at, buffer.data(), std::min(drawn_bytes, buffer.size() - at));
}

std::optional<std::string> own_difference(const own::Argument& argument, const own::Tolerance& tolerance,
    std::span<const std::int64_t> extents, std::span<const std::byte> expected, std::span<const std::byte> found) {
  const own::ElementType& type = *argument.type;
  const bool by_bits = !type.is_float() && tolerance.absolute == 0 && tolerance.relative == 0;  // a double has not 64
  const std::size_t count = expected.size() / type.bytes;
  std::optional<std::size_t> first;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::byte *const of_reference = expected.data() + i * type.bytes, *const here = found.data() + i * type.bytes;
    if (by_bits) {
      if (std::memcmp(of_reference, here, type.bytes) == 0) continue;
    } else {
      const double number = number_at(type, of_reference);
      if (std::isnan(number))
        return fmt::format(
            "the reference's {}{} is NaN: expected a number", argument.name, place_of(std::int64_t(i), extents));
      if (is_right(tolerance, number, number_at(type, here))) continue;
    }
    ++wrong;
    if (!first) first = i;
  }
  if (!first) return std::nullopt;
  const std::string number = text_at(type, expected.data() + *first * type.bytes);
  return fmt::format("{}{} is {}, expected {}{}: {} of {} elements differ", argument.name,
      place_of(std::int64_t(*first), extents), text_at(type, found.data() + *first * type.bytes), number,
      bound_text(tolerance, number), wrong, count);
}

std::optional<std::string> two_runs_difference(const own::Argument& argument, std::span<const std::int64_t> extents,
    std::span<const std::byte> first, std::span<const std::byte> second) {
  const auto differ = std::ranges::mismatch(first, second).in1;
  if (differ == first.end()) return std::nullopt;
  const std::size_t bytes = argument.type->bytes, index = std::size_t(differ - first.begin()) / bytes;
  return fmt::format("{}{} is {} in one run and {} in the next, expected the same bits", argument.name,
      place_of(std::int64_t(index), extents), text_at(*argument.type, first.data() + index * bytes),
      text_at(*argument.type, second.data() + index * bytes));
}

}  // namespace tilesmith::tuner
