#include "tuner/cli/captured_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <regex>
#include <sstream>
#include <system_error>
#include <utility>

#include "db/files.hpp"
#include "tuner/cli/command.hpp"
#include "tuner/cli/output.hpp"
#include "tuner/cli/terminal.hpp"
#include "tuner/figures.hpp"
#include "tuner/workload.hpp"

namespace tilesmith::tuner {
namespace {

namespace fs = std::filesystem;

/// As long as a name of the shim's can be, beside FILE.
constexpr const char* kLongestAddition = ".part4194304.1234567890123456789";

struct Captured {
  std::size_t problems = 0, calls = 0;
};

/// Sizes that were added (families.hpp) are problems, but were not called.
Captured count_captured(const std::string& text) {
  std::string called;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.ends_with("# not seen")) called += line + "\n";
  }
  try {
    Captured counted{parse_workload(text, "").problems.size()};
    for (const WeightedProblem& one : parse_workload(called, "").problems) counted.calls += std::size_t(one.weight);
    return counted;
  } catch (const WorkloadError&) {  // all of its calls were left out
    return {};
  }
}

/// As a shell reads it back.
std::string shell_word(const std::string& word) {
  if (std::regex_match(word, std::regex("[A-Za-z0-9_./,+@%-]+"))) return word;
  return "'" + std::regex_replace(word, std::regex("'"), "'\\''") + "'";
}

void print_of_capture(const std::string& line) { Screen::instance().print_line("tilesmith capture: " + line); }

}  // namespace

CapturedFiles::CapturedFiles(fs::path path, std::string given) : path_(std::move(path)), given_(std::move(given)) {
  std::error_code error;
  if (fs::exists(fs::symlink_status(path_, error))) throw UsageError(fmt::format("-o {}: exists; expected the name of a new file", given_));
  const std::string probe = path_.string() + kLongestAddition;
  const int file = ::open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0)
    throw UsageError(fmt::format("-o {}: {}; expected a file in a folder that exists and can be written", given_, std::generic_category().message(errno)));
  ::close(file);
  ::unlink(probe.c_str());
  before_ = files_there();
}

/// FILE, FILE.PID, FILE.PID.2.
std::set<fs::path> CapturedFiles::files_there() const {
  std::string pattern = std::regex_replace(path_.filename().string(), std::regex(R"([.^$|()\[\]{}*+?\\])"), "\\$&");
  pattern = std::regex_replace(pattern, std::regex("%p"), "[0-9]+") + "(\\.[0-9]+)*";
  const std::regex name(pattern);
  std::set<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator at(path_.parent_path(), error), end; !error && at != end; at.increment(error)) {
    if (std::regex_match(at->path().filename().string(), name)) files.insert(at->path());
  }
  return files;
}

void CapturedFiles::report(bool is_by_name) const {
  std::string tune, whole;
  std::set<fs::path> files = files_there();
  for (const fs::path& file : before_) files.erase(file);
  for (const fs::path& file : files) {
    const std::string shown = given_ == "-" ? file.filename().string() : (fs::path(given_).parent_path() / file.filename()).string();
    const std::string text = db::read_file(file, "a workload");
    const Captured counted = count_captured(text);
    whole += text;
    print_of_capture(fmt::format("{}: {}, {}", shown, count_of(counted.problems, "problem"), count_of(counted.calls, "call")));
    for (std::size_t at = 0; (at = text.find("# left out, ", at)) != std::string::npos; ++at) print_of_capture(text.substr(at + 2, text.find('\n', at) - at - 2));
    if (counted.problems > 0) tune += " --workload " + shell_word(shown);
  }
  if (files.empty()) {
    print_of_capture(fmt::format("no product was captured, and {} was not written; {}cuBLAS that is linked statically cannot be captured",
                                 given_ == "-" ? "nothing" : given_, is_by_name ? "" : "a program that opens cuBLAS by name needs --by-name 12 or 13; "));
  } else if (given_ == "-") {
    write_result(whole);
  } else if (!tune.empty()) {
    print_of_capture(fmt::format("next: tilesmith tune{} --budget 8h --db app.db", tune));
  }
}

}  // namespace tilesmith::tuner
