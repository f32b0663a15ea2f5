#include "tuner/cli/commands/kernel_tuner.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "db/exchange/export.hpp"
#include "kernels/base/on_all_cores.hpp"
#include "tuner/exit_status.hpp"
#include "tuner/workers/spawn.hpp"

namespace tilesmith::tuner {
namespace {

using Answer = nlohmann::json;

constexpr int kPollMs = 100;  // until a wish to stop is seen

/// What the script writes to descriptor 3 until it ends, or is stopped. Throws std::runtime_error if it ends badly.
std::string output_of(
    const std::string& python, const std::vector<std::string>& arguments, const std::atomic<bool>& stop) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe for " + python);
  Spawn what;
  what.executable = "/usr/bin/env";  // finds the program
  what.arguments = {"PYTHONHASHSEED=0", "OMP_NUM_THREADS=1", python, "-c", std::string(kKernelTunerScript)};
  what.arguments.insert(what.arguments.end(), arguments.begin(), arguments.end());
  what.descriptor_3 = ends[1];
  what.output = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  const pid_t child = spawn(what);
  ::close(what.output);
  ::close(ends[1]);
  std::string text;
  while (!stop) {
    pollfd ready{ends[0], POLLIN, 0};
    if (::poll(&ready, 1, kPollMs) <= 0) continue;
    char part[4096];
    const ssize_t bytes = ::read(ends[0], part, sizeof(part));
    if (bytes <= 0) break;
    text.append(part, std::size_t(bytes));
  }
  ::close(ends[0]);
  if (stop) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0 && !stop) throw std::runtime_error(ending_in_words(status));
  return text;
}

/// Throws std::runtime_error if one is an error, or is none.
std::vector<Answer> answers_in(const std::string& output) {
  std::vector<Answer> answers;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    answers.push_back(Answer::parse(line, nullptr, false));
    if (!answers.back().is_object()) throw std::runtime_error(fmt::format("'{:.80}' is no answer", line));
    if (answers.back().contains("error")) throw std::runtime_error(answers.back()["error"].get<std::string>());
  }
  return answers;
}

/// The table as a cache of Kernel Tuner. Each entry has its config's index.
std::string cache_of(const OutcomeTable& table) {
  Answer cache;
  for (const Parameter& parameter : table.space.parameters(0)) {
    cache["tune_params_keys"].push_back(parameter.name);
    cache["tune_params"][parameter.name] = parameter.values;
  }
  for (std::size_t index = 0; index < table.space.size(); ++index) {
    const Score& time = table.outcomes[index];
    Answer entry{{"tilesmith_index", index}, {"time", time ? Answer(*time) : Answer()}};
    std::vector<int> values;
    const Config config = table.space.config(index);
    for (const auto& [name, value] : config.values()) {
      entry[name.text()] = value;
      values.push_back(value);
    }
    cache["cache"][fmt::format("{}", fmt::join(values, ","))] = std::move(entry);
  }
  return cache.dump();
}

/// A file that goes with this.
struct PrivateFile {
  std::string path = std::filesystem::temp_directory_path() / "tilesmith-XXXXXX.json";

  explicit PrivateFile(const std::string& content) {
    ::close(::mkstemps(path.data(), int(std::string_view(".json").size())));
    db::write_file_atomically(path, content);
  }
  ~PrivateFile() { ::unlink(path.c_str()); }
};

}  // namespace

std::vector<std::string> kernel_tuner_strategies(const std::string& python, const std::string& given) {
  try {
    return answers_in(output_of(python, {given}, false)).at(0).at("strategies");
  } catch (const std::exception& error) {
    throw UsageError(fmt::format(
        "--beside-kernel-tuner '{}': {}: {}; expected strategies of the package kernel-tuner, which that Python "
        "(--python) has",
        given, python, error.what()));
  }
}

std::vector<SimulatedStrategy> simulate_kernel_tuner(const OutcomeTable& table, const std::vector<std::string>& names,
    const std::string& python, const SimulationOptions& options, const std::atomic<bool>& stop,
    const std::function<void(std::string_view)>& on_run) {
  const PrivateFile cache(cache_of(table));
  std::vector<SimulatedStrategy> result(names.size());
  std::mutex mutex;
  on_all_cores(names.size(), [&](std::size_t i) {
    SimulatedStrategy& one = result[i];
    one.name = fmt::format("{}{}", kKernelTunerPrefix, names[i]);
    std::vector<std::string> arguments{cache.path, names[i]};
    for (const std::uint64_t number : {options.runs, options.evaluations, options.seed})
      arguments.push_back(std::to_string(number));
    try {
      const std::vector<Answer> runs = answers_in(output_of(python, arguments, stop));
      if (stop) return;
      if (runs.size() != options.runs)
        throw std::runtime_error(fmt::format("{} of {} runs came back", runs.size(), options.runs));
      const auto replay = [&](const SearchSpace& space, std::uint64_t seed) {
        return make_initial_only(space, runs.at(seed - options.seed).at("configs"));
      };
      const std::scoped_lock lock(mutex);
      Curve curve = simulate(table, replay, options, stop, [&] { on_run(one.name); }).value_or(Curve{});
      curve.seconds_per_run = 0;
      for (const Answer& run : runs) curve.seconds_per_run += run.at("seconds").get<double>() / double(runs.size());
      one.curve = std::move(curve);
    } catch (const std::exception& error) {
      spdlog::error("{}: {}: {}", table.name, one.name, error.what());
    }
  });
  return result;
}

}  // namespace tilesmith::tuner
