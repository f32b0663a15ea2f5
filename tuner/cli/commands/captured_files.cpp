#include "tuner/cli/commands/captured_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <regex>
#include <system_error>

#include "db/files/files.hpp"
#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/output/output.hpp"
#include "tuner/cli/output/terminal.hpp"
#include "tuner/figures.hpp"
#include "tuner/workload.hpp"

namespace tilesmith::tuner {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLongestAddition = ".part4194304.1234567890123456789";  // to FILE, by the shim

/// Less the sizes that were added (families.cpp).
std::vector<WeightedTask> called_problems(std::string text) {
  constexpr std::string_view kAdded = "# not seen";
  for (std::size_t at = 0; (at = text.find(kAdded, at)) != std::string::npos;) {
    const std::size_t begin = text.rfind('\n', at) + 1;
    text.erase(begin, at + kAdded.size() - begin);
    at = begin;
  }
  try {
    return parse_workload(text, "").tasks;
  } catch (const WorkloadError&) {  // all of its calls were left out
    return {};
  }
}

std::string shell_word(const std::string& word) {
  if (std::regex_match(word, std::regex("[A-Za-z0-9_./,+@%-]+"))) return word;
  return "'" + std::regex_replace(word, std::regex("'"), "'\\''") + "'";
}

/// Whether a process that is no more wrote it: such a file is replaced, as other commands replace theirs.
bool is_of_ended_capture(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  int process = 0;
  return std::getline(file, line) && std::sscanf(line.c_str(), "# calls of cuBLAS by process %d", &process) == 1 &&
         ::kill(process, 0) != 0 && errno == ESRCH;
}

void print_of_capture(const std::string& line) { Screen::instance().print_line("tilesmith capture: " + line); }

}  // namespace

void require_new_file(const fs::path& path, const std::string& given) {
  std::error_code error;
  if (is_of_ended_capture(path)) fs::remove(path, error);
  if (fs::exists(fs::symlink_status(path, error)))
    throw UsageError(
        fmt::format("-o {}: exists and is no capture that has ended; expected the name of a new file", given));
  const std::string probe = path.string() + kLongestAddition;
  const int file = ::open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0)
    throw UsageError(fmt::format("-o {}: {}; expected a file in a folder that exists and can be written", given,
        std::generic_category().message(errno)));
  ::close(file);
  ::unlink(probe.c_str());
}

std::set<fs::path> captured_files(const fs::path& path) {
  const std::string name = std::regex_replace(path.filename().string(), std::regex(R"([.^$|()\[\]{}*+?\\])"), "\\$&");
  const std::regex pattern(std::regex_replace(name, std::regex("%p"), "[0-9]+") + "(\\.[0-9]+)*");
  std::set<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator at(path.parent_path(), error), end; !error && at != end; at.increment(error)) {
    if (std::regex_match(at->path().filename().string(), pattern)) files.insert(at->path());
  }
  return files;
}

void report_captured(const std::set<fs::path>& files, const std::string& given, bool is_by_name) {
  std::string tune, whole;
  for (const fs::path& file : files) {
    const std::string shown = (fs::path(given).parent_path() / file.filename()).string(),
                      text = db::read_file(file, "a workload");
    const std::vector<WeightedTask> problems = called_problems(text);
    double calls = 0;
    for (const WeightedTask& one : problems) calls += one.weight;
    print_of_capture(
        fmt::format("{}: {}, {}", shown, count_of(problems.size(), "problem"), count_of(std::size_t(calls), "call")));
    for (std::size_t at = 0; (at = text.find("# left out, ", at)) != std::string::npos; ++at)
      print_of_capture(text.substr(at + 2, text.find('\n', at) - at - 2));
    if (!problems.empty()) tune += " --workload " + shell_word(shown);
    whole += text;
  }
  if (files.empty())
    print_of_capture(fmt::format(
        "no product was captured, and {} was not written; {}cuBLAS that is linked statically cannot be captured",
        given == "-" ? "nothing" : given,
        is_by_name ? "" : "a program that opens cuBLAS by name needs --by-name 12 or 13; "));
  else if (given == "-") write_result(whole);
  else if (!tune.empty()) print_of_capture(fmt::format("next: tilesmith tune{} --budget 8h --db app.db", tune));
}

}  // namespace tilesmith::tuner
