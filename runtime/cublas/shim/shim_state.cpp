#include "runtime/cublas/shim/shim_state.hpp"

#include <pthread.h>

#include <chrono>
#include <cstdlib>

#include "runtime/cublas/shim/settings.hpp"
#include "runtime/cublas/shim/tilesmith_api.hpp"

namespace tilesmith::cublas {
namespace {

std::atomic<ShimState*> current_state{nullptr};
std::mutex making_state;
constexpr std::chrono::seconds kLongestLoad{2};
bool holds_loading = false;  // by the thread that forks

ShimState* make_state() noexcept {
  try {
    return new ShimState();
  } catch (...) {
    return nullptr;
  }
}

void before_fork() {
  making_state.lock();
  holds_loading = loading_libraries().try_lock_for(kLongestLoad);
  if (ShimState* const state = current_state.load()) {
    state->problems.mutex().lock();
    state->planner.mutex().lock();
    state->output.lock();
  }
}

void unlock_all(ShimState* state) {
  if (state != nullptr) {
    state->output.unlock();
    state->planner.mutex().unlock();
    state->problems.mutex().unlock();
  }
  if (holds_loading) loading_libraries().unlock();
  making_state.unlock();
}

void after_fork_in_parent() { unlock_all(current_state.load()); }

/// The parent's plans belong to its context and its thread: the child begins anew, and counts its own calls alone.
void after_fork_in_child() {
  ShimState* const parents = current_state.load();
  if (parents != nullptr) current_state.store(make_state());
  unlock_all(parents);
}

void at_exit() {
  ShimState* const state = current_state.load();
  if (state == nullptr || state->process != getpid()) return;
  state->planner.stop();
  if (settings().mode == Mode::capture) write_capture_file();
  report(*state);
}

}  // namespace

ShimState* shim_state() noexcept {
  if (ShimState* const known = current_state.load(std::memory_order_acquire)) return known;
  const std::lock_guard lock(making_state);
  if (ShimState* const known = current_state.load()) return known;
  static bool registered = false;
  if (!registered) {
    // Late enough that the end of the process runs it before the driver's own.
    if (pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) != 0 || std::atexit(at_exit) != 0)
      return nullptr;
    registered = true;
  }
  ShimState* const made = make_state();
  current_state.store(made, std::memory_order_release);
  return made;
}

}  // namespace tilesmith::cublas
