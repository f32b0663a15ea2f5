#include "tuner/cli/output/progress.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <mutex>

#include "tuner/figures.hpp"

namespace tilesmith::tuner {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kRedrawEvery = 100ms;
constexpr std::chrono::milliseconds kPlainLineEvery = 10s;
constexpr std::chrono::milliseconds kFirstLineAfter = 500ms;
constexpr std::size_t kBarColumns = 24;

std::string bar(double fraction) {
  const auto filled = std::size_t(std::clamp(fraction, 0.0, 1.0) * double(kBarColumns));
  return fmt::format("[{}{}]", std::string(filled, '#'), std::string(kBarColumns - filled, '.'));
}

/// "3/20", and from the second on which time slice it is.
std::string place(const Progress& now) {
  return fmt::format(
      "{}/{}{}", now.task_index + 1, now.task_count, now.slice > 1 ? fmt::format(", slice {}", now.slice) : "");
}

}  // namespace

std::string prospect_text(const Progress& now) {
  if (now.gave_up_time) return "settled, the rest of its time goes to other problems";
  if (!(now.seconds_left > 0) || now.left == 0 || now.trend.too_few()) return "";
  if (now.trend.settled()) return "settled";
  return fmt::format(
      "still gaining, {:.1f}% by the last half of its candidates", 100 * (1 - std::exp(-now.trend.last_doubling)));
}

void tell_compile_error(std::set<std::string>& told, const Config& config, const std::string& message) {
  if (told.insert(config.family()).second) spdlog::warn("{} does not compile: {}", config.text(), message);
}

Clock::time_point ProgressLine::first_shown() {
  return Screen::instance().is_terminal() ? Clock::time_point{} : Clock::now();
}

bool ProgressLine::is_due() {
  const auto now = Clock::now();
  if (now - shown_ < (Screen::instance().is_terminal() ? kRedrawEvery : kPlainLineEvery)) return false;
  shown_ = now;
  return true;
}

void ProgressLine::show(const std::string& line, double fraction) {
  if (Screen::instance().is_terminal())
    Screen::instance().set_status({(fraction < 0 ? "" : bar(fraction) + " ") + line});
  else spdlog::info("{}", line);
}

void TuneProgress::update(const Progress& now) {
  if (last_ && (now.task_index != last_->task_index || now.slice != last_->slice)) {
    log_finished_slice();
    slice_began_s_ = last_->seconds_elapsed;
  }
  if (now.last) log_outcome(now);
  last_ = now;
  last_->last.reset();

  if (!line_.is_due()) return;
  if (!Screen::instance().is_terminal()) {
    spdlog::info("[{}] {}: {} done ({} known before), {} failed, {} left, best {}, {}", place(now), text(now.task),
        now.done, now.reused, now.failed, now.left, best_text(now), time_left(now));
    return;
  }
  const double share = double(now.done) / double(std::max<std::int64_t>(1, now.done + now.left));
  Screen::instance().set_status({
      fmt::format("problem {}  {}", place(now), text(now.task)),
      fmt::format("{} {} done ({} known before), {} failed, {} left  {}", bar(share), now.done, now.reused, now.failed,
          now.left, time_left(now)),
      "best " + best_text(now) + (now.best_config.empty() ? "" : "  " + now.best_config),
  });
}

void TuneProgress::finish() {
  Screen::instance().clear_status();
  if (last_) log_finished_slice();
  last_.reset();
}

void TuneProgress::log_outcome(const Progress& now) {
  const Evaluated& one = *now.last;
  const std::string problem = text(one.candidate.task);
  if (one.outcome.status == db::Status::ok && one.outcome.timing) {
    spdlog::debug("{} {}: {} us ±{:.1f}%", problem, one.candidate.config.text(),
        format_us(one.outcome.timing->median_us), 100 * one.outcome.timing->spread);
    return;
  }
  if (one.outcome.status == db::Status::compile_failed)
    tell_compile_error(told_, one.candidate.config, one.outcome.message);
  spdlog::debug(
      "{} {}: {}: {}", problem, one.candidate.config.text(), db::name(one.outcome.status), one.outcome.message);
}

void TuneProgress::log_finished_slice() const {
  const Progress& was = *last_;
  const std::string prospect = prospect_text(was);
  spdlog::info("[{}] {}: best {}; {} candidates, {} known before, {} failed, {}{}{}{}{}", place(was), text(was.task),
      best_text(was), was.done, was.reused, was.failed, format_seconds(was.seconds_elapsed - slice_began_s_),
      prospect.empty() ? "" : "; ", prospect, was.best_config.empty() ? "" : "; ", was.best_config);
}

std::string TuneProgress::best_text(const Progress& now) const {
  if (!(now.best_us > 0)) return "none yet";
  return fmt::format("{} us, {}", format_us(now.best_us), rate_(now.task, now.best_us).text());
}

std::string TuneProgress::time_left(const Progress& now) const {
  if (now.seconds_left > 0) return fmt::format("{} of the budget left", format_seconds(now.seconds_left));
  const std::int64_t timed = now.done - now.reused;
  const double spent = now.seconds_elapsed - slice_began_s_;
  if (timed < 5 || !(spent > 0) || now.left <= 0) return fmt::format("{} elapsed", format_seconds(now.seconds_elapsed));
  return fmt::format("{} elapsed, about {} left for this problem", format_seconds(now.seconds_elapsed),
      format_seconds(spent / double(timed) * double(now.left)));
}

CountProgress::CountProgress(std::string what)
    : shower_([this, what = std::move(what), began = Clock::now()](const std::stop_token& stop) {
        Screen& screen = Screen::instance();
        std::mutex mutex;
        std::unique_lock lock(mutex);
        std::condition_variable_any ending;
        for (auto wait = kFirstLineAfter; !ending.wait_for(lock, stop, wait, [&] { return stop.stop_requested(); });
             wait = screen.is_terminal() ? kRedrawEvery : kPlainLineEvery) {
          const std::size_t done = done_, total = total_;
          const std::string line = fmt::format("{}{}, {}", what, total > 0 ? fmt::format(": {}/{}", done, total) : "",
              format_seconds(std::chrono::duration<double>(Clock::now() - began).count()));
          if (screen.is_terminal()) ProgressLine::show(line, double(done) / double(std::max<std::size_t>(1, total)));
          else screen.print_line(line);
        }
      }) {}

}  // namespace tilesmith::tuner
