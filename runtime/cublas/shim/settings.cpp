#include "runtime/cublas/shim/settings.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tilesmith::cublas {
namespace {

constexpr const char* kModes[] = {"off", "capture", "run", "check"};  // in the order of Mode

/// "" where it is not set.
std::string variable(const char* name) {
  const char* given = std::getenv(name);
  return given != nullptr ? given : "";
}

Mode mode_of(const std::string& given) {
  if (given.empty()) return Mode::run;
  for (const Mode mode : {Mode::off, Mode::capture, Mode::run, Mode::check}) {
    if (given == name(mode)) return mode;
  }
  say("TILESMITH_CUBLAS is '%.64s': expected off, capture, run or check; it is off now", given.c_str());
  return Mode::off;
}

/// A program that changes its folder still writes one file.
std::string in_this_folder(const std::string& path) {
  char folder[4096];
  return path[0] == '/' || getcwd(folder, sizeof folder) == nullptr ? path : std::string(folder) + "/" + path;
}

Settings read_settings() {
  Settings result;
  result.mode = mode_of(variable("TILESMITH_CUBLAS"));
  result.database = variable("TILESMITH_DB");
  result.capture = variable("TILESMITH_CAPTURE");
  result.capture = in_this_folder(result.capture.empty() ? "tilesmith.workload" : result.capture);
  if (const std::string buckets = variable("TILESMITH_CAPTURE_BUCKETS");
      !buckets.empty() && !parse_buckets(buckets, result.buckets))
    say("TILESMITH_CAPTURE_BUCKETS is '%.64s': expected %s; it is powers now", buckets.c_str(), kBucketsExpected);
  result.library = variable("TILESMITH_LIBRARY");
  result.real_cublas = variable("TILESMITH_REAL_CUBLAS");
  if (!result.real_cublas.empty() && (result.real_cublas[0] != '/' || access(result.real_cublas.c_str(), R_OK) != 0)) {
    say("TILESMITH_REAL_CUBLAS is '%s': expected the absolute path of cuBLAS; it is searched for instead",
        result.real_cublas.c_str());
    result.real_cublas.clear();
  }
  const bool serves = result.mode == Mode::run || result.mode == Mode::check;
  if (serves && !result.database.empty() && access(result.database.c_str(), R_OK) != 0)
    say("%s: cannot be read, expected a database (TILESMITH_DB); every call is forwarded", result.database.c_str());
  return result;
}

/// What stderr was when the shim was loaded. Zeros: closed.
const struct stat& first_stderr() {
  static const struct stat kept = [] {
    struct stat file {};
    fstat(STDERR_FILENO, &file);
    return file;
  }();
  return kept;
}
[[gnu::constructor]] void remember_stderr() { first_stderr(); }

/// A program may have closed stderr; then its number is that of some file of the program's.
bool is_stderr_still() {
  struct stat now {};
  const struct stat& first = first_stderr();
  return fstat(STDERR_FILENO, &now) == 0 && now.st_dev == first.st_dev && now.st_ino == first.st_ino &&
         now.st_rdev == first.st_rdev;
}

}  // namespace

const char* name(Mode mode) { return kModes[std::size_t(mode)]; }

const Settings& settings() {
  static const auto* const kept =
      new Settings(read_settings());  // never destroyed: calls may come while the process ends
  return *kept;
}

void say_lines(const std::string& lines) {
  static const bool quiet = variable("TILESMITH_LOG") == "off";
  if (quiet) return;
  if (is_stderr_still())
    write_whole(STDERR_FILENO, lines + "\n");  // one write, so that lines of several threads do not mix
}

bool write_whole(int file, const std::string& text) {
  sigset_t ours, pending, before;
  sigemptyset(&ours);
  sigpending(&pending);
  for (const int number : {SIGPIPE, SIGXFSZ}) {
    if (sigismember(&pending, number) == 0) sigaddset(&ours, number);
  }
  pthread_sigmask(SIG_BLOCK, &ours, &before);
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = write(file, text.data() + written, text.size() - written);
    if (count == 0 || (count < 0 && errno != EINTR)) break;
    written += count > 0 ? std::size_t(count) : 0;
  }
  const int error = errno;
  constexpr timespec kNoWait{};
  while (sigtimedwait(&ours, nullptr, &kNoWait) > 0) continue;  // the program never sees it
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return written == text.size();
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
