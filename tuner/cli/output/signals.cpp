#include "tuner/cli/output/signals.hpp"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cstdint>

namespace tilesmith::tuner {
namespace {

constexpr std::int64_t kOneWishNs = 1'000'000'000;  // coreutils' timeout signals its child, then the child's group

// A handler may touch lock-free atomics only.
std::atomic<bool> stop_asked{false};
std::atomic<int> signal_seen{0};
std::atomic<std::int64_t> first_ns{0};  // when the first signal came; 0: none did
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free &&
              std::atomic<std::int64_t>::is_always_lock_free);

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};
std::array<struct sigaction, kSignals.size()> former_actions;

extern "C" void on_signal(int number) {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  const std::int64_t now = time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
  std::int64_t first = 0;
  if (first_ns.compare_exchange_strong(first, now)) {
    signal_seen = number;
    stop_asked = true;
  } else if (now - first >= kOneWishNs) {
    // Nothing is lost: every outcome was committed when it came.
    static constexpr char kNote[] = "\ntilesmith: ended at once\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kNote, sizeof kNote - 1);
    ::_exit(128 + number);
  }
}

}  // namespace

StopOnSignal::StopOnSignal() {
  stop_asked = false;
  signal_seen = 0;
  first_ns = 0;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &former_actions[i]);
    if (former_actions[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &action, nullptr);
  }
}

StopOnSignal::~StopOnSignal() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &former_actions[i], nullptr);
}

const std::atomic<bool>& StopOnSignal::stop() const { return stop_asked; }

int StopOnSignal::exit_status() const {
  const int number = signal_seen;
  return number == 0 ? 0 : 128 + number;
}

}  // namespace tilesmith::tuner
