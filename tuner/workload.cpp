#include "tuner/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iostream>
#include <optional>
#include <unordered_map>

#include "kernels/families/tasks.hpp"
#include "kernels/own/kernel.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kLongestWord = 64;         // bytes; the longest legal one is far shorter
constexpr std::size_t kLargestFile = 16u << 20;  // bytes; a workload of that size was not meant as one
constexpr double kLargestWeight = 1e12;
constexpr const char* kExpectedLine =
    "expected 'type trans M N K [weight] [FIELD=VALUE ..]', e.g. 'f16f32 NN 1024 1024 1024 2 beta=any', or 'kernel NAME SIZE=N .. [weight]'";

/// A word as an error may show it: no control or foreign bytes, and short.
std::string shown(std::string_view word) {
  std::string result;
  for (const char c : word.substr(0, kLongestWord)) result += c >= ' ' && c <= '~' ? c : '?';
  return word.size() > kLongestWord ? result + "..." : result;
}

std::vector<std::string_view> split(std::string_view line, std::string_view at) {
  std::vector<std::string_view> result;
  for (std::size_t start = line.find_first_not_of(at); start != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(at, start), line.size());
    result.push_back(line.substr(start, end - start));
    start = line.find_first_not_of(at, end);
  }
  return result;
}

bool plain(std::string_view word) {
  return word.size() <= kLongestWord &&
         std::all_of(word.begin(), word.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

std::optional<double> parse_weight(std::string_view word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  if (!(value > 0 && value <= kLargestWeight)) return std::nullopt;
  return value;
}

/// One line without its comment, not blank. Throws std::string: what was wrong and what was expected.
WeightedTask parse_line(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (!plain(word)) throw fmt::format("'{}': {}", shown(word), kExpectedLine);
  }
  const std::size_t head = words.front() == "kernel" ? 2 : 5;  // the words that every line has
  if (words.size() < head)
    throw fmt::format("'{}': {}", shown(fmt::format("{}", fmt::join(words, " "))), kExpectedLine);

  WeightedTask result;
  std::string task_text;
  bool weighted = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i < head || words[i].find('=') != std::string::npos) {
      task_text += fmt::format("{}{}", task_text.empty() ? "" : " ", words[i]);
      continue;
    }
    const auto weight = parse_weight(words[i]);
    if (!weight)
      throw fmt::format("weight is '{}': expected a number above 0 and at most {:g}", words[i], kLargestWeight);
    if (weighted) throw fmt::format("a second weight '{}': {}", words[i], kExpectedLine);
    result.weight = *weight;
    weighted = true;
  }

  std::string error;
  const std::optional<Task> task = parse_task(task_text, error);
  if (!task) throw error;
  const own::Kernel* kernel = task->is_gemm() ? nullptr : own::find_kernel(task->kernel().kernel);
  result.task = kernel == nullptr ? *task : Task(kernel->at(task->kernel().sizes));
  if (const auto wrong = no_task_because(result.task)) throw *wrong;
  return result;
}

/// What a line `weights calls` or `weights shares` says. Throws std::string.
bool are_calls(const std::vector<std::string>& words) {
  if (words.size() == 2 && (words[1] == "calls" || words[1] == "shares")) return words[1] == "calls";
  throw fmt::format(
      "'{}': expected 'weights calls' or 'weights shares'", shown(fmt::format("{}", fmt::join(words, " "))));
}

std::string names_of_built_in() {
  std::string names;
  for (const BuiltInWorkload& one : built_in_workloads())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
  return names;
}

std::string read_whole(std::istream& file, const std::string& origin) {
  std::string text;
  char chunk[65536];
  while (file.read(chunk, sizeof chunk), file.gcount() > 0) {
    text.append(chunk, std::size_t(file.gcount()));
    if (text.size() > kLargestFile) {
      throw WorkloadError(fmt::format("{}: larger than {} bytes, expected a workload file", origin, kLargestFile));
    }
  }
  return text;
}

}  // namespace

std::vector<std::string> problem_words(std::string_view text) {
  const std::vector<std::string_view> words = split(text, " \t\r");
  std::vector<std::string> result;
  std::string_view batch;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool is_shape = i == 2 && words[i].find_first_not_of("0123456789xX") == std::string_view::npos;
    const std::vector<std::string_view> dimensions = is_shape ? split(words[i], "xX") : std::vector<std::string_view>{};
    std::size_t size = dimensions.size() - 1;
    for (const std::string_view dimension : dimensions) size += dimension.size();
    const bool is_whole = size == words[i].size() && (dimensions.size() == 3 || dimensions.size() == 4);
    if (is_whole) result.insert(result.end(), dimensions.end() - 3, dimensions.end());
    else result.emplace_back(words[i]);
    if (is_whole && dimensions.size() == 4) batch = dimensions[0];
  }
  if (!batch.empty()) result.insert(result.end(), {fmt::format("batch={}", batch), "batch_mode=strided"});
  return result;
}

Workload parse_workload(std::string_view text, const std::string& origin) {
  Workload workload;
  workload.name = origin;
  std::unordered_map<std::string, std::size_t> seen;
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) text.remove_prefix(kByteOrderMark.size());
  std::size_t line_number = 0;
  while (!text.empty()) {
    ++line_number;
    const std::size_t newline = text.find('\n');
    const std::string_view line = text.substr(0, newline);
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
    const std::vector<std::string> words = problem_words(line.substr(0, line.find('#')));
    if (words.empty()) continue;
    try {
      if (words.front() == "weights") {
        workload.weights_are_calls = are_calls(words);
        continue;
      }
      WeightedTask read = parse_line(words);
      const auto [known, is_new] = seen.emplace(tilesmith::text(read.task), workload.tasks.size());
      if (is_new) workload.tasks.push_back(std::move(read));
      else workload.tasks[known->second].weight += read.weight;
    } catch (const std::string& wrong) {
      throw WorkloadError(fmt::format("{}:{}: {}", origin, line_number, wrong));
    }
  }
  if (workload.tasks.empty()) {
    throw WorkloadError(
        fmt::format("{}:{}: no task in it, {}", origin, std::max<std::size_t>(1, line_number), kExpectedLine));
  }
  return workload;
}

Workload load_workload(const std::filesystem::path& path) {
  if (path == "-") {
    Workload workload = parse_workload(read_whole(std::cin, "standard input"), "standard input");
    workload.name = "stdin";
    return workload;
  }
  std::error_code ignored;
  std::ifstream file(path, std::ios::binary);
  if (std::filesystem::is_directory(path, ignored) || !file) {
    throw WorkloadError(fmt::format("{}: cannot be read, expected a workload file or one of the built-in workloads {}",
        path.string(), names_of_built_in()));
  }
  Workload workload = parse_workload(read_whole(file, path.string()), path.string());
  workload.name = path.stem().string();
  return workload;
}

Workload built_in_workload(std::string_view name) {
  for (const BuiltInWorkload& one : built_in_workloads()) {
    if (one.name == name) return parse_workload(one.text, std::string(name));
  }
  throw WorkloadError(fmt::format("unknown workload '{}': expected one of {}", shown(name), names_of_built_in()));
}

}  // namespace tilesmith::tuner
