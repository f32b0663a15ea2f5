// tilesmith capture, tilesmith run: start a program that uses cuBLAS with the shim before it (docs/applications.md).
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "runtime/driver/shared_library.hpp"
#include "tuner/cli/buckets_option.hpp"
#include "tuner/cli/command.hpp"
#include "tuner/cli/options.hpp"

namespace tilesmith::tuner {
namespace {

namespace fs = std::filesystem;

struct ShimOptions {
  std::string output, buckets = kDefaultBuckets;
  std::string db;
  bool check = false;
  int by_name = 0;  // major version of the cuBLAS that the program opens by name; 0: it is linked with one
  bool lt_too = false;  // and cuBLASLt
  std::string shim_dir;
  std::vector<std::string> command;
};

/// Where the shims lie: beside an installed program's libraries, or in a build folder.
std::vector<fs::path> shim_folders(const std::string& given) {
  if (!given.empty()) return {given};
  const fs::path bin = runtime::file_of_address(reinterpret_cast<const void*>(&shim_folders)).parent_path();
  return {bin / ".." / TILESMITH_LIBRARY_FOLDER, bin / ".." / "lib", bin / ".." / "runtime"};
}

/// The files to preload, of one folder.
std::vector<fs::path> shims(const ShimOptions& options) {
  std::vector<fs::path> names;
  if (options.by_name != 0) {
    names = {fmt::format("tilesmith-cublas{0}/libcublas.so.{0}", options.by_name)};
    if (options.lt_too) names.push_back(fmt::format("tilesmith-cublaslt{0}/libcublasLt.so.{0}", options.by_name));
  } else {
    names = {"libtilesmith-cublas13.so", "libtilesmith-cublas12.so"};
  }
  const std::vector<fs::path> folders = shim_folders(options.shim_dir);
  for (const fs::path& folder : folders) {
    std::vector<fs::path> found;
    for (const fs::path& name : names) {
      if (std::error_code error; fs::exists(folder / name, error)) found.push_back(fs::weakly_canonical(folder / name));
    }
    if (found.size() == names.size()) return found;
  }
  throw UsageError(fmt::format("{}: no such file; expected the shim there, or --shim-dir FOLDER", (folders.front() / names.front()).lexically_normal().string()));
}

void set(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }

/// Becomes the program; returns only by throwing.
int start(const ShimOptions& options) {
  std::string preload;
  for (const fs::path& shim : shims(options)) preload += shim.string() + ":";
  if (const char* others = std::getenv("LD_PRELOAD"); others != nullptr && *others != '\0') preload += std::string(others) + ":";
  preload.pop_back();
  set("LD_PRELOAD", preload);
  std::vector<char*> arguments;
  for (const std::string& one : options.command) arguments.push_back(const_cast<char*>(one.c_str()));
  arguments.push_back(nullptr);
  std::signal(SIGXFSZ, SIG_DFL);  // this program ignores it
  ::execvp(arguments.front(), arguments.data());
  const int error = errno;
  throw UsageError(fmt::format("{}: could not be started: {}", options.command.front(), std::generic_category().message(error)));
}

int run_capture(const ShimOptions& options) {
  const fs::path output = fs::absolute(options.output);
  std::error_code error;
  if (fs::exists(output, error)) throw UsageError(fmt::format("-o {}: exists; expected the name of a new file", options.output));
  if (!fs::is_directory(output.parent_path(), error)) throw UsageError(fmt::format("-o {}: expected a file in a folder that exists", options.output));
  buckets_given(options.buckets);
  set("TILESMITH_CUBLAS", "capture");
  set("TILESMITH_CAPTURE_BUCKETS", options.buckets);
  set("TILESMITH_CAPTURE", output.string());
  return start(options);
}

int run_run(const ShimOptions& options) {
  const fs::path path = fs::absolute(database_path(options.db));
  std::error_code error;
  if (!fs::exists(path, error)) throw UsageError(fmt::format("{}: no such file; expected a database or a bundle", path.string()));
  set("TILESMITH_CUBLAS", options.check ? "check" : "run");
  set("TILESMITH_DB", path.string());
  return start(options);
}

void add_common(CLI::App& app, ShimOptions& options) {
  app.add_option("--by-name", options.by_name, "The program opens cuBLAS of this major version by name, with dlopen, as plug-ins do; it need not be linked with it")
      ->check(CLI::IsMember({12, 13}));
  app.add_flag("--lt-too", options.lt_too, "With --by-name: it opens cuBLASLt by name as well, as JAX does. A cuBLAS newer than this build may miss a function then")
      ->needs("--by-name");
  app.add_option("--shim-dir", options.shim_dir, "Folder of the shims; default: beside this program")->type_name("FOLDER");
  app.add_option("COMMAND", options.command, "The program and its arguments, behind --")->required();
}

}  // namespace

Command add_capture(CLI::App& program) {
  CLI::App* app = program.add_subcommand("capture", "Start a program and write which products it asks cuBLAS for, as a workload");
  const auto options = std::make_shared<ShimOptions>();
  app->add_option("-o,--output", options->output, "The workload file to write; %p in it becomes each process's number")->type_name("FILE")->required();
  add_buckets_option(*app, options->buckets);
  add_common(*app, *options);
  app->footer(
      "The program runs as ever: all calls go to cuBLAS. The file has a line for each problem, weighted by its calls. Problems that\n"
      "differ in M alone, as with a server's batch sizes, stand together. Only sizes that are listed are tuned, and only what was\n"
      "tuned is taken over: --buckets adds sizes that may come. The file is written while the program runs, and at its end. The exit\n"
      "status is the program's.\n"
      "\nExample:\n"
      "  tilesmith capture -o app.workload -- python serve.py\n"
      "  tilesmith tune --workload app.workload --budget 8h --db app.db\n"
      "  tilesmith run --db app.db -- python serve.py");
  return {app, [options] { return run_capture(*options); }};
}

Command add_run(CLI::App& program) {
  CLI::App* app = program.add_subcommand("run", "Start a program whose calls of cuBLAS are served where the database is faster");
  const auto options = std::make_shared<ShimOptions>();
  add_database_option(*app, options->db);
  app->add_flag("--check", options->check, "Have each product computed by both, compare them, and give the program cuBLAS's results; slow");
  add_common(*app, *options);
  app->footer(
      "A call is taken over where this device has a valid record that was timed beside cuBLAS and is faster; all others go\n"
      "to cuBLAS. At the program's end a table on stderr says what was taken over and why the rest was not. The exit status is\n"
      "the program's.\n"
      "\nExample:\n"
      "  tilesmith run --db app.db -- python serve.py");
  return {app, [options] { return run_run(*options); }};
}

}  // namespace tilesmith::tuner
