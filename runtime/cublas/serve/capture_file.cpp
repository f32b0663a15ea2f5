#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/cublas/calls/families.hpp"
#include "runtime/cublas/shim/settings.hpp"
#include "runtime/cublas/shim/shim_state.hpp"
#include "runtime/cublas/shim/tilesmith_api.hpp"

namespace tilesmith::cublas {
namespace {

/// Of TILESMITH_CAPTURE. %p in the file's name becomes the process's number.
std::string wanted_path(const std::string& number) {
  std::string path = settings().capture;
  for (std::size_t at = path.rfind('/') + 1; (at = path.find("%p", at)) != std::string::npos; at += number.size())
    path.replace(at, 2, number);
  return path;
}

/// Gives a whole file a name that nobody has taken: `wanted`, else with the process's number, else with .2 and so on,
/// as a process that becomes another program keeps its number. False with errno set.
bool name_file(const std::string& beside, const std::string& wanted, const std::string& number, std::string& name) {
  std::string path = wanted;
  for (int more = 1; link(beside.c_str(), path.c_str()) != 0; ++more) {
    const int file = errno == EEXIST ? -1
                                     : open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                                           0666);  // some file systems have no links
    if (file >= 0) {
      close(file);
      break;
    }
    if (errno != EEXIST) return false;
    path = wanted + "." + number;
    if (more > 1) path.append(".").append(std::to_string(more));
  }
  name = path;
  if (path != wanted) say("%s exists: process %s writes %s", wanted.c_str(), number.c_str(), path.c_str());
  return true;
}

/// Whole or not at all; a file that this process did not begin is never replaced. False with errno set.
bool replace_file(ShimState& state, const std::string& text) {
  const std::string number = std::to_string(state.process), wanted = wanted_path(number);
  const auto now = std::chrono::system_clock::now()
                       .time_since_epoch()
                       .count();  // containers may share a folder, and numbers of processes
  const std::string beside = wanted + ".part" + number + "." + std::to_string(now);
  const int file = open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) return false;
  const bool is_written = write_whole(file, text);
  const bool is_replaced = close(file) == 0 && is_written &&
                           (!state.capture_file.empty() || name_file(beside, wanted, number, state.capture_file)) &&
                           std::rename(beside.c_str(), state.capture_file.c_str()) == 0;
  const int error = errno;
  std::remove(beside.c_str());
  errno = error;
  return is_replaced;
}

std::string capture_text(ShimState& state, std::uint64_t& calls) {
  std::vector<CountedProblem> seen;
  for (const KnownProblem* problem : state.problems.all()) {
    const std::uint64_t count = problem->calls[std::size_t(Reason::capture_mode)].load(std::memory_order_relaxed);
    if (count > 0) seen.push_back({problem->key, count});
    calls += count;
  }
  const TilesmithApi* const api = tilesmith_api();
  if (api == nullptr) return "";
  return workload_text(seen, settings().buckets, "calls of cuBLAS by process " + std::to_string(state.process),
      {api->problem_text, api->last_error})
      .text;
}

void write_capture(ShimState& state) {
  std::uint64_t calls = 0;
  const std::string text = capture_text(state, calls);
  const std::lock_guard lock(state.output);
  if (calls == state.calls_in_file || text.empty()) return;
  if (replace_file(state, text)) {
    state.calls_in_file = calls;
    return;
  }
  const std::string why = std::strerror(errno);
  static bool is_said = false;
  if (!is_said)
    say("%s: cannot be written (%s), expected a file's path (TILESMITH_CAPTURE)", settings().capture.c_str(),
        why.c_str());
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
