#include "runtime/cublas/settings.hpp"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tilesmith::cublas {
namespace {

constexpr Mode kModes[] = {Mode::off, Mode::capture, Mode::run, Mode::check};

/// "" where it is not set.
std::string variable(const char* name) {
  const char* given = std::getenv(name);
  return given != nullptr ? given : "";
}

std::string default_database() {
  if (const std::string data = variable("XDG_DATA_HOME"); !data.empty() && data[0] == '/') return data + "/tilesmith/tuned.db";
  const std::string home = variable("HOME");
  return home.empty() ? "" : home + "/.local/share/tilesmith/tuned.db";
}

Mode mode_of(const std::string& given) {
  if (given.empty()) return Mode::run;
  for (const Mode mode : kModes) {
    if (given == name(mode)) return mode;
  }
  say("TILESMITH_CUBLAS is '%.64s': expected off, capture, run or check; it is off now", given.c_str());
  return Mode::off;
}

Settings read_settings() {
  Settings result;
  result.mode = mode_of(variable("TILESMITH_CUBLAS"));
  result.database = variable("TILESMITH_DB");
  if (result.database.empty()) result.database = default_database();
  result.capture = variable("TILESMITH_CAPTURE");
  if (result.capture.empty()) result.capture = "tilesmith.workload";
  if (const std::string buckets = variable("TILESMITH_CAPTURE_BUCKETS"); !buckets.empty() && !parse_buckets(buckets, result.buckets))
    say("TILESMITH_CAPTURE_BUCKETS is '%.64s': expected %s; it is powers now", buckets.c_str(), kBucketsExpected);
  result.library = variable("TILESMITH_LIBRARY");
  result.real_cublas = variable("TILESMITH_REAL_CUBLAS");
  if (!result.real_cublas.empty() && (result.real_cublas[0] != '/' || access(result.real_cublas.c_str(), R_OK) != 0)) {
    say("TILESMITH_REAL_CUBLAS is '%s': expected the absolute path of cuBLAS; it is searched for instead", result.real_cublas.c_str());
    result.real_cublas.clear();
  }
  if (result.mode == Mode::run || result.mode == Mode::check) {
    if (result.database.empty()) say("no database: expected TILESMITH_DB, or HOME; every call is forwarded");
    else if (access(result.database.c_str(), R_OK) != 0)
      say("%s: cannot be read, expected a database (TILESMITH_DB); every call is forwarded", result.database.c_str());
  }
  return result;
}

}  // namespace

const char* name(Mode mode) {
  switch (mode) {
    case Mode::off: return "off";
    case Mode::capture: return "capture";
    case Mode::run: return "run";
    case Mode::check: return "check";
  }
  return "unknown";
}

const Settings& settings() {
  static const auto* const kept = new Settings(read_settings());  // never destroyed: calls may come while the process ends
  return *kept;
}

void say_lines(const std::string& lines) {
  static const bool quiet = variable("TILESMITH_LOG") == "off";
  if (quiet) return;
  const std::string whole = lines + "\n";
  // One write, so that lines of several threads do not mix.
  if (write(STDERR_FILENO, whole.data(), whole.size()) < 0) return;
}

void say(const char* format, ...) {
  char line[1024] = "tilesmith: cublas: ";
  const std::size_t begin = std::strlen(line);
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line + begin, sizeof line - begin, format, arguments);
  va_end(arguments);
  say_lines(line);
}

}  // namespace tilesmith::cublas
