#include "runtime/cublas/capture_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/cublas/families.hpp"
#include "runtime/cublas/settings.hpp"
#include "runtime/cublas/shim_state.hpp"

namespace tilesmith::cublas {
namespace {

/// Of TILESMITH_CAPTURE. %p in the file's name becomes the process's number.
std::string wanted_path(const std::string& number) {
  std::string path = settings().capture;
  for (std::size_t at = path.rfind('/') + 1; (at = path.find("%p", at)) != std::string::npos; at += number.size()) path.replace(at, 2, number);
  return path;
}

/// Begins a file that nobody has begun: FILE, else FILE.PID, else FILE.PID.2 and so on, as a process that becomes another program keeps its number.
/// False with errno set.
bool begin_file(ShimState& state) {
  const std::string number = std::to_string(state.process), wanted = wanted_path(number);
  std::string path = wanted;
  int file = -1;
  for (int more = 1; (file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) < 0; ++more) {
    if (errno != EEXIST) return false;
    path = wanted + "." + number;
    if (more > 1) path.append(".").append(std::to_string(more));
  }
  close(file);
  state.capture_file = path;
  return true;
}

/// Whole or not at all. False with errno set.
bool replace_file(const std::string& path, const std::string& text) {
  const std::string beside = path + ".part";
  const int file = open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return false;
  const bool is_written = write_whole(file, text);
  if (close(file) == 0 && is_written && std::rename(beside.c_str(), path.c_str()) == 0) return true;
  const int error = errno;
  std::remove(beside.c_str());
  errno = error;
  return false;
}

/// The user must know of a file by another name; `tilesmith capture` names all of them at the end.
void announce_file(const ShimState& state) {
  const std::string number = std::to_string(state.process), wanted = wanted_path(number);
  if (state.capture_file != wanted) say("%s exists: process %s writes %s", wanted.c_str(), number.c_str(), state.capture_file.c_str());
  const int list = open(settings().capture_list.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (list < 0) return;
  write_whole(list, state.capture_file + '\0');
  close(list);
}

std::string capture_text(ShimState& state, std::uint64_t& calls) {
  std::vector<CountedProblem> seen;
  for (const KnownProblem* problem : state.problems.all()) {
    const std::uint64_t count = problem->calls[std::size_t(Reason::capture_mode)].load(std::memory_order_relaxed);
    if (count > 0) seen.push_back({problem->key, count});
    calls += count;
  }
  return workload_text(seen, settings().buckets, "calls of cuBLAS by process " + std::to_string(state.process)).text;
}

void write_capture(ShimState& state) {
  std::uint64_t calls = 0;
  const std::string text = capture_text(state, calls);
  const std::lock_guard lock(state.output);
  if (calls == state.calls_in_file) return;
  const bool is_first = state.calls_in_file == 0;
  if ((!is_first || begin_file(state)) && replace_file(state.capture_file, text)) {
    if (is_first) announce_file(state);
    state.calls_in_file = calls;
    return;
  }
  const std::string why = std::strerror(errno);
  if (is_first && !state.capture_file.empty()) std::remove(state.capture_file.c_str());
  if (is_first) state.capture_file.clear();
  static bool is_said = false;
  if (!is_said) say("%s: cannot be written (%s), expected a file's path (TILESMITH_CAPTURE)", settings().capture.c_str(), why.c_str());
  is_said = true;
}

}  // namespace

void write_capture_file() noexcept {
  try {
    if (ShimState* const state = shim_state()) write_capture(*state);
  } catch (...) {  // out of memory: the next time, perhaps
  }
}

}  // namespace tilesmith::cublas
