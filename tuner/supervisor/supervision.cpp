#include "tuner/supervisor/supervision.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "tuner/exit_status.hpp"
#include "tuner/supervisor/tuner_process.hpp"
#include "tuner/workers/spawn.hpp"

namespace tilesmith::tuner {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int kMostRestarts = 5;            // of a device's tuner
constexpr auto kFirstRestartPause = 100ms;  // doubled each time
constexpr auto kForgivenAfter = 10min;      // a tuner that worked for so long may be restarted as often again
constexpr auto kLookAroundEvery = 100ms;

struct Tuner {
  TuneDevice device;
  Model* model = nullptr;
  std::unique_ptr<TunerProcess> process;
  Clock::time_point started{};
  std::optional<Clock::time_point> restart_at;
  int restarts = 0;
  int gave_up_with = kExitOk;  ///< exit status
};

/// On the clock that tune() goes by.
double end_of(std::chrono::duration<double> budget) {
  const double now = std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
  return budget.count() > 0 ? now + budget.count() : std::numeric_limits<double>::infinity();
}

class Supervision {
 public:
  Supervision(std::deque<Model>& models, const Workload& workload, std::vector<std::string> arguments,
      const SupervisorOutput& output)
      : workload_(workload), arguments_(std::move(arguments)), output_(output) {
    for (Model& model : models) {
      for (const TuneDevice& device : model.devices) {
        tuners_.emplace_back();
        tuners_.back().device = device;
        tuners_.back().model = &model;
      }
    }
  }

  void run(const std::atomic<bool>& stop) {
    for (Tuner& tuner : tuners_) start(tuner);
    bool asked = false;
    while (std::any_of(tuners_.begin(), tuners_.end(), [](const Tuner& t) { return t.process || t.restart_at; })) {
      if (stop && !std::exchange(asked, true)) ask_to_end();
      wait_for_lines();
      for (Tuner& tuner : tuners_) look_after(tuner, stop);
      show_status();
    }
    for (const Tuner& tuner : tuners_) {
      Model& model = *tuner.model;
      model.status = worst_of(std::array{model.status, beside_others(tuner.gave_up_with, model.board)});
    }
  }

 private:
  void start(Tuner& tuner) {
    tuner.restart_at.reset();
    std::vector<std::string> arguments = arguments_;
    for (const std::string& word :
        {std::string("--device"), std::to_string(tuner.device.ordinal), std::string("--board")})
      arguments.push_back(word);
    tuner.started = Clock::now();
    tuner.process = std::make_unique<TunerProcess>(std::move(arguments), tuner.model->board.fd());
    spdlog::debug("device {}: tuner process {}", tuner.device.ordinal, tuner.process->pid());
  }

  void ask_to_end() {
    for (Tuner& tuner : tuners_) {
      tuner.restart_at.reset();
      if (tuner.process) tuner.process->ask_to_end();
    }
  }

  void wait_for_lines() {
    std::vector<pollfd> waiting;
    for (const Tuner& tuner : tuners_) {
      if (tuner.process) waiting.push_back({tuner.process->fd(), POLLIN, 0});
    }
    const int got = ::poll(waiting.data(), waiting.size(), int(std::chrono::milliseconds(kLookAroundEvery).count()));
    const bool hung_up =
        std::any_of(waiting.begin(), waiting.end(), [](const pollfd& one) { return one.revents & POLLHUP; });
    if (got > 0 && hung_up) ::poll(nullptr, 0, 10);  // a tuner that is ending: its pipe would not let us wait
  }

  void look_after(Tuner& tuner, bool stopping) {
    if (!tuner.process) {
      if (tuner.restart_at && Clock::now() >= *tuner.restart_at) start(tuner);
      return;
    }
    const bool ended = tuner.process->ended();
    for (const std::string& line : tuner.process->read_lines()) output_.line(tuner.device, line);
    if (!ended) return;
    const int status = tuner.process->wait_status();
    tuner.process.reset();
    tuner.model->board.release(tuner.device.ordinal);
    if (!stopping && !(WIFEXITED(status) && WEXITSTATUS(status) == kExitOk)) take_death(tuner, status);
  }

  void take_death(Tuner& tuner, int status) {
    const std::string what =
        fmt::format("device {}: its tuner ended: {}", tuner.device.ordinal, ending_in_words(status));
    SliceBoard& board = tuner.model->board;
    // Its log names them. Another tuner may take them up.
    const bool set_aside = WIFEXITED(status) && WEXITSTATUS(status) == kExitSetAside;
    if (set_aside) {
      tuner.gave_up_with = kExitSetAside;
      board.set_tuners(board.tuners() - 1);
      return;
    }
    // What was given wrongly, or is missing here, will be again.
    const bool hopeless = WIFEXITED(status) && WEXITSTATUS(status) == kExitUsage;
    if (!hopeless && board.count(SliceBoard::State::done) == board.size()) {
      spdlog::warn("{}; nothing was left to do", what);
      return;
    }
    if (Clock::now() - tuner.started > kForgivenAfter) tuner.restarts = 0;
    if (hopeless || tuner.restarts == kMostRestarts) {
      tuner.gave_up_with = hopeless ? kExitUsage : kExitInternal;
      board.set_tuners(board.tuners() - 1);
      spdlog::error("{}; given up{}", what, hopeless ? "" : fmt::format(" after {} restarts", kMostRestarts));
      return;
    }
    tuner.restart_at = Clock::now() + kFirstRestartPause * (1 << tuner.restarts++);
    spdlog::warn("{}; started again ({} of at most {} times)", what, tuner.restarts, kMostRestarts);
  }

  void show_status() {
    if (!output_.status || Clock::now() - shown_ < 500ms) return;
    shown_ = Clock::now();
    std::vector<std::string> lines;
    for (const Tuner& tuner : tuners_) {
      const SliceBoard& board = tuner.model->board;
      std::string doing = tuner.process ? "waiting" : tuner.restart_at ? "starting again" : "ended";
      for (std::size_t i = 0; tuner.process && i < board.size(); ++i) {
        const SliceBoard::Note note = board.note(i);
        if (note.state == SliceBoard::State::begun && note.tuner == tuner.device.ordinal)
          doing = text(workload_.tasks[i].task);
      }
      lines.push_back(fmt::format(
          "device {}: {}/{} had slices  {}", tuner.device.ordinal, board.had_slices(), board.size(), doing));
    }
    output_.status(std::move(lines));
  }

  const Workload& workload_;
  const std::vector<std::string> arguments_;
  const SupervisorOutput& output_;
  std::vector<Tuner> tuners_;
  Clock::time_point shown_{};
};

}  // namespace

int worst_of(std::span<const int> statuses) {
  const auto failed =
      std::find_if(statuses.begin(), statuses.end(), [](int one) { return one != kExitOk && one != kExitSetAside; });
  if (failed != statuses.end()) return *failed;
  return std::find(statuses.begin(), statuses.end(), kExitSetAside) != statuses.end() ? kExitSetAside : kExitOk;
}

int beside_others(int status, const SliceBoard& board) {
  return status == kExitSetAside && board.had_slices() == board.size() ? kExitOk : status;
}

std::string_view how_it_ended(const SliceBoard& board, bool stopped, int status) {
  if (stopped) return "interrupted";
  if (board.count(SliceBoard::State::done) == board.size()) return "done";
  if (status == kExitSetAside) return "done but for what was set aside";
  return status == kExitOk ? "budget" : "failed";
}

std::deque<Model> models_of(
    const std::vector<TuneDevice>& devices, const Workload& workload, std::chrono::duration<double> budget) {
  std::deque<Model> models;
  for (const TuneDevice& device : devices) {
    const auto same = [&](const Model& model) { return model.identity() == device.identity; };
    auto found = std::find_if(models.begin(), models.end(), same);
    if (found == models.end()) {
      models.push_back({{}, SliceBoard(workload, end_of(budget)), kExitOk});
      found = models.end() - 1;
    }
    found->devices.push_back(device);
    found->board.set_tuners(int(found->devices.size()));
  }
  return models;
}

void supervise(std::deque<Model>& models, const Workload& workload, std::vector<std::string> arguments,
    const SupervisorOutput& output, const std::atomic<bool>& stop) {
  Supervision(models, workload, std::move(arguments), output).run(stop);
}

}  // namespace tilesmith::tuner
