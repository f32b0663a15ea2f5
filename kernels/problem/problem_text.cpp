// The text of a problem, written and read.
#include <fmt/format.h>

#include <charconv>

#include "kernels/base/words.hpp"
#include "kernels/problem/problem.hpp"

namespace tilesmith {
namespace {

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string text(const Problem& p) {
  return fmt::format("{} {} {} {} {}{}", p.type.name, name(p.trans), p.m, p.n, p.k, extras_text(p));
}

std::string extras_text(const Problem& problem) {
  std::string result;
  const Problem packed = packed_problem(problem, problem.m, problem.n, problem.k);
  if (problem.lda != packed.lda) result += fmt::format(" lda={}", problem.lda);
  if (problem.ldb != packed.ldb) result += fmt::format(" ldb={}", problem.ldb);
  if (problem.ldc != packed.ldc) result += fmt::format(" ldc={}", problem.ldc);
  if (problem.align_bytes != packed.align_bytes) result += fmt::format(" align={}", problem.align_bytes);
  if (problem.beta != packed.beta) result += fmt::format(" beta={}", name(problem.beta));
  if (problem.batch != packed.batch) result += fmt::format(" batch={}", problem.batch);
  const Problem behind = with_packed_strides(problem);
  if (problem.stride_a != behind.stride_a) result += fmt::format(" stride_a={}", problem.stride_a);
  if (problem.stride_b != behind.stride_b) result += fmt::format(" stride_b={}", problem.stride_b);
  if (problem.stride_c != behind.stride_c) result += fmt::format(" stride_c={}", problem.stride_c);
  return result + options_text(problem);
}

std::optional<Problem> parse_problem(std::string_view text, std::string& error) {
  const auto fail = [&](std::string what) {
    error = std::move(what);
    return std::nullopt;
  };
  const std::vector<std::string_view> parts = words(text);
  if (parts.size() < 5)
    return fail(fmt::format("'{}': expected 'type transposes M N K', e.g. 'f16f32 NN 64 64 64'", text));
  const auto signature = parse_signature(fmt::format("{} {}", parts[0], parts[1]), error);
  if (!signature) return std::nullopt;
  std::int64_t dimensions[3];
  for (std::size_t i = 0; i < 3; ++i) {
    const auto value = parse_integer(parts[i + 2]);
    if (!value) return fail(fmt::format("{} is '{}': expected an integer", "MNK"[i], parts[i + 2]));
    dimensions[i] = *value;
  }
  Problem problem = packed_problem(*signature, dimensions[0], dimensions[1], dimensions[2]);
  std::optional<std::int64_t> lda, ldb, ldc, stride_a, stride_b, stride_c;
  for (std::size_t i = 5; i < parts.size(); ++i) {
    const std::size_t equals = parts[i].find('=');
    const std::string_view key = parts[i].substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? "" : parts[i].substr(equals + 1);
    const auto number = parse_integer(value);
    if (key == "lda" && number) lda = number;
    else if (key == "ldb" && number) ldb = number;
    else if (key == "ldc" && number) ldc = number;
    else if (key == "align" && number && *number == int(*number)) problem.align_bytes = int(*number);
    else if (key == "batch" && number) problem.batch = *number;
    else if (key == "stride_a" && number) stride_a = number;
    else if (key == "stride_b" && number) stride_b = number;
    else if (key == "stride_c" && number) stride_c = number;
    else if (key == "beta" && parse_beta_class(value)) problem.beta = *parse_beta_class(value);
    else if (!read_option(parts[i], problem))
      return fail(fmt::format(
          "'{}': expected lda=, ldb=, ldc=, align=, batch=, stride_a=, stride_b=, stride_c= with a number, beta=zero|any, or {}",
          parts[i], signature_options()));
  }
  // Options say how many columns are stored.
  const Problem packed = packed_problem(problem, problem.m, problem.n, problem.k);
  problem.lda = lda.value_or(packed.lda);
  problem.ldb = ldb.value_or(packed.ldb);
  problem.ldc = ldc.value_or(packed.ldc);
  if (problem.batch_mode != BatchMode::single) problem = with_packed_strides(problem);
  problem.stride_a = stride_a.value_or(problem.stride_a);
  problem.stride_b = stride_b.value_or(problem.stride_b);
  problem.stride_c = stride_c.value_or(problem.stride_c);
  if (const auto wrong = problem_error(problem)) return fail(*wrong);
  return canonical(problem);
}

}  // namespace tilesmith
