// tilesmith tune --device all: a tuner process for each device, supervised; what they found, in one table.
#include <fmt/format.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <deque>
#include <limits>
#include <memory>
#include <system_error>
#include <vector>

#include "runtime/compile/compiler.hpp"
#include "tuner/cli/command.hpp"
#include "tuner/cli/command_line.hpp"
#include "tuner/cli/several_end.hpp"
#include "tuner/cli/signals.hpp"
#include "tuner/cli/summary.hpp"
#include "tuner/cli/target.hpp"
#include "tuner/cli/terminal.hpp"
#include "tuner/cli/tune_command.hpp"
#include "tuner/figures.hpp"
#include "tuner/schedule/turn_board.hpp"
#include "tuner/workers/compile_jobs.hpp"
#include "tuner/workers/spawn.hpp"
#include "tuner/workers/tuner_process.hpp"

namespace tilesmith::tuner {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int kMostRestarts = 5;            // of a device's tuner
constexpr auto kFirstRestartPause = 100ms;  // doubled each time
constexpr auto kForgivenAfter = 10min;      // a tuner that worked for so long may be restarted as often again
constexpr auto kLookAroundEvery = 100ms;
constexpr int kReservedCores = 1;  // for measuring, on each device

/// Devices of one model, on which evidence is the same: they share the problems.
struct Model {
  std::vector<TuneDevice> devices;
  TurnBoard board;
  int status = kExitOk;  ///< of its tuners, once they have ended
  const db::DeviceIdentity& identity() const { return devices.front().identity; }
};

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

/// In a deque: boards stay where they are.
std::deque<Model> models_of(const PreparedTune& prepared) {
  std::deque<Model> models;
  for (const TuneDevice& device : prepared.devices) {
    const auto same = [&](const Model& model) { return model.identity() == device.identity; };
    auto found = std::find_if(models.begin(), models.end(), same);
    if (found == models.end()) {
      models.push_back({{}, TurnBoard(prepared.workload, end_of(prepared.tune.budget)), kExitOk});
      found = models.end() - 1;
    }
    found->devices.push_back(device);
    found->board.set_tuners(int(found->devices.size()));
  }
  return models;
}

/// The user's own words, less those that name the devices.
std::vector<std::string> shared_arguments() {
  std::vector<std::string> kept;
  const std::vector<std::string>& given = command_arguments();
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i] == "--device" || given[i] == "--compile-jobs")
      ++i;
    else if (given[i].rfind("--device=", 0) != 0 && given[i].rfind("--compile-jobs=", 0) != 0)
      kept.push_back(given[i]);
  }
  return kept;
}

class Supervision {
 public:
  Supervision(const TuneCommandOptions& options, const PreparedTune& prepared, std::deque<Model>& models)
      : workload_(prepared.workload),
        arguments_(shared_arguments()),
        compile_jobs_(options.compile_jobs > 0 ? options.compile_jobs
                                               : default_compile_jobs(kReservedCores, prepared.devices.front().integrated,
                                                                      int(prepared.devices.size()))) {
    for (Model& model : models) {
      for (const TuneDevice& device : model.devices) {
        tuners_.emplace_back();
        tuners_.back().device = device;
        tuners_.back().model = &model;
      }
    }
  }
  ~Supervision() { Screen::instance().clear_status(); }

  /// Until every tuner has ended, by itself or because `stop` asks for it. Leaves each model's status in it.
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
         {std::string("--device"), std::to_string(tuner.device.ordinal), std::string("--compile-jobs"),
          std::to_string(compile_jobs_), std::string("--board")})
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
    for (const std::string& line : tuner.process->read_lines())
      Screen::instance().print_line(fmt::format("[device {}] {}", tuner.device.ordinal, line));
    if (!ended) return;
    const int status = tuner.process->wait_status();
    tuner.process.reset();
    tuner.model->board.release(tuner.device.ordinal);
    if (!stopping && !(WIFEXITED(status) && WEXITSTATUS(status) == kExitOk)) take_death(tuner, status);
  }

  void take_death(Tuner& tuner, int status) {
    const std::string what =
        fmt::format("device {}: its tuner ended: {}", tuner.device.ordinal, ending_in_words(status));
    TurnBoard& board = tuner.model->board;
    // Its log names them. Another tuner may take them up.
    const bool set_aside = WIFEXITED(status) && WEXITSTATUS(status) == kExitSetAside;
    if (set_aside) {
      tuner.gave_up_with = kExitSetAside;
      board.set_tuners(board.tuners() - 1);
      return;
    }
    if (board.count(TurnBoard::State::done) == board.size()) {
      spdlog::warn("{}; nothing was left to do", what);
      return;
    }
    // What was given wrongly, or is missing here, will be again.
    const bool hopeless = WIFEXITED(status) && WEXITSTATUS(status) == kExitUsage;
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
    if (!Screen::instance().is_terminal() || Clock::now() - shown_ < 500ms) return;
    shown_ = Clock::now();
    std::vector<std::string> lines;
    for (const Tuner& tuner : tuners_) {
      const TurnBoard& board = tuner.model->board;
      std::string doing = tuner.process ? "waiting" : tuner.restart_at ? "starting again" : "ended";
      for (std::size_t i = 0; tuner.process && i < board.size(); ++i) {
        const TurnBoard::Note note = board.note(i);
        if (note.state == TurnBoard::State::begun && note.tuner == tuner.device.ordinal)
          doing = text(workload_.problems[i].problem);
      }
      lines.push_back(fmt::format("device {}: {}/{} had turns  {}", tuner.device.ordinal,
                                  board.had_turns(), board.size(), doing));
    }
    Screen::instance().set_status(std::move(lines));
  }

  const Workload& workload_;
  const std::vector<std::string> arguments_;
  const int compile_jobs_;
  std::vector<Tuner> tuners_;
  Clock::time_point shown_{};
};

std::string list_of(const std::deque<Model>& models) {
  std::string all;
  for (const Model& model : models) {
    std::string ordinals;
    for (const TuneDevice& device : model.devices)
      ordinals += fmt::format("{}{}", ordinals.empty() ? "" : ", ", device.ordinal);
    all += fmt::format("{}{} (device {})", all.empty() ? "" : " and ", short_name(model.identity()), ordinals);
  }
  return all;
}

void log_end(const std::deque<Model>& models, bool stopped) {
  for (const Model& model : models) {
    const std::size_t had = model.board.had_turns();
    spdlog::info("ended: {}; {} of {} had {} turn on {}", how_it_ended(model.board, stopped, model.status), had,
                 count_of(model.board.size(), "problem"), had == 1 ? "its" : "their", short_name(model.identity()));
  }
}

bool has_evidence(const db::Store& store, const db::DeviceIdentity& device) {
  db::EvidenceFilter filter;
  filter.device_exactly = device;
  filter.limit = 1;
  return !store.evidence(filter).empty();
}

/// "run.jsonl.zst" → "run.device2.jsonl.zst".
std::filesystem::path with_number(const std::filesystem::path& path, int ordinal) {
  std::string name = path.filename().string();
  name.insert(std::min(name.find('.', 1), name.size()), fmt::format(".device{}", ordinal));
  return path.parent_path() / name;
}

/// A landscape is of one model.
void save_records(const db::Store& store, const std::deque<Model>& models, const std::filesystem::path& path) {
  for (const Model& model : models) {
    if (!has_evidence(store, model.identity())) continue;
    const std::filesystem::path file = models.size() == 1 ? path : with_number(path, model.devices.front().ordinal);
    db::EvidenceFilter filter;
    filter.device_exactly = model.identity();
    db::save_landscape(store, filter, file);
    spdlog::info("recorded the landscape of {} in {}", short_name(model.identity()), file.string());
  }
}

/// Without an evaluator, which would start to measure: the producer is what the library would take itself for.
SummaryDevice summary_device(const db::Store& store, const Model& model) {
  const TuneDevice& device = model.devices.front();
  const KernelTarget target{{type_pairs().front(), {}}, device.limits};
  db::EvidenceFilter filter;
  filter.device_exactly = device.identity;
  const TargetDevice here{device.identity, device.limits, device.clock_mhz, device.driver_version,
                          device.recording.empty()};
  return {device.identity, device.limits, device.clock_mhz,
          [entries = store.evidence(filter), here, target](const std::string& family) {
            return producer_now(entries, family, here, target);
          }};
}

}  // namespace

int tune_on_several(const TuneCommandOptions& options, const PreparedTune& prepared) {
  apply_log_options(options.log, "[supervisor]");
  StopOnSignal signals;
  std::deque<Model> models = models_of(prepared);
  const db::Store store = open_tune_store(options);
  spdlog::info("{}", announcement(options, prepared, list_of(models)));
  spdlog::info("evidence goes to {}", store.path().string());

  Supervision(options, prepared, models).run(signals.stop());

  log_end(models, signals.stop());
  if (!options.record.empty()) save_records(store, models, options.record);
  for (const Model& model : models)
    fmt::print("{}", summary_of_bests(prepared.workload, store, summary_device(store, model), stdout_width()));
  std::fflush(stdout);
  if (signals.exit_status() != 0) return signals.exit_status();
  std::vector<int> statuses;
  for (const Model& model : models) statuses.push_back(model.status);
  return worst_of(statuses);
}

}  // namespace tilesmith::tuner
