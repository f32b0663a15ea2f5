// tilesmith capture, tilesmith run: start a program that uses cuBLAS with the shim before it (docs/applications.md).
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/driver/shared_library.hpp"
#include "runtime/interface/gemm.hpp"
#include "tuner/cli/commands/captured_files.hpp"
#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/options/options.hpp"
#include "tuner/cli/output/output.hpp"
#include "tuner/workload.hpp"

namespace tilesmith::tuner {
namespace {

namespace fs = std::filesystem;

struct ShimOptions {
  std::string output, db, shim_dir, buckets = kDefaultBuckets;
  std::vector<std::string> prepare;  ///< workload files
  bool check = false;
  int by_name = 0;      // major version of the cuBLAS that the program opens by name; 0: it is linked with one
  bool lt_too = false;  // and cuBLASLt
  std::vector<std::string> command;
};

/// Where the shims lie: beside an installed program's libraries, or in a build folder.
std::vector<fs::path> shim_folders(const std::string& given) {
  if (!given.empty()) return {given};
  const fs::path bin = runtime::file_of_address(reinterpret_cast<const void*>(&shim_folders)).parent_path();
  return {bin / ".." / TILESMITH_LIBRARY_FOLDER, bin / ".." / "lib", bin / ".." / "runtime"};
}

/// The files to preload, and the folder that has them.
std::pair<fs::path, std::vector<fs::path>> shims(const ShimOptions& options) {
  std::vector<fs::path> names;
  if (options.by_name != 0) {
    names = {fmt::format("tilesmith-cublas{0}/libcublas.so.{0}", options.by_name)};
    if (options.lt_too) names.push_back(fmt::format("tilesmith-cublaslt{0}/libcublasLt.so.{0}", options.by_name));
  } else {
    names = {"libtilesmith-cublas13.so", "libtilesmith-cublas12.so"};
  }
  const std::vector<fs::path> folders = shim_folders(options.shim_dir);
  for (const fs::path& folder : folders) {
    std::error_code error;
    const bool has_all =
        std::all_of(names.begin(), names.end(), [&](const fs::path& name) { return fs::exists(folder / name, error); });
    if (has_all) return {fs::canonical(folder), names};
  }
  throw UsageError(fmt::format("{}: no such file; expected the shim there, or --shim-dir FOLDER",
      (folders.front() / names.front()).lexically_normal().string()));
}

void set(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }

/// LD_PRELOAD cannot hold a path with one of these.
constexpr const char* kEndsPath = " :$";

struct RemoveFolder {
  void operator()(fs::path* folder) const {
    std::error_code ignored;
    fs::remove_all(*folder, ignored);
    delete folder;
  }
};
using PrivateFolder = std::unique_ptr<fs::path, RemoveFolder>;

PrivateFolder make_private_folder() {
  const char* const given = std::getenv("TMPDIR");
  for (std::string path : {given != nullptr && *given == '/' ? given : "/tmp", "/tmp", "/var/tmp"}) {
    path += "/tilesmith-XXXXXX";
    if (path.find_first_of(kEndsPath) == std::string::npos && ::mkdtemp(path.data()) != nullptr)
      return PrivateFolder(new fs::path(path));
  }
  throw UsageError("no folder for temporary files can be made; expected TMPDIR or /tmp");
}

/// The shims before the program; where LD_PRELOAD cannot hold their path, by a link in `own`.
void preload(const ShimOptions& options, PrivateFolder& own) {
  auto [folder, names] = shims(options);
  if (folder.string().find_first_of(kEndsPath) != std::string::npos) {
    if (!own) own = make_private_folder();
    fs::create_directory_symlink(folder, *own / "shims");
    folder = *own / "shims";
  }
  std::string files;
  for (const fs::path& name : names) files += (files.empty() ? "" : ":") + (folder / name).string();
  if (const char* others = std::getenv("LD_PRELOAD"); others != nullptr && *others != '\0')
    files += std::string(":") + others;
  set("LD_PRELOAD", files);
}

/// Becomes the program; or runs it as a child to its end, and returns what waitpid() said. What is sent to this process
/// then goes to the child, which is killed if this one is.
int start(const ShimOptions& options, bool as_child) {
  std::vector<char*> arguments;
  for (const std::string& one : options.command) arguments.push_back(const_cast<char*>(one.c_str()));
  arguments.push_back(nullptr);
  const auto become = [&] {
    ::signal(SIGXFSZ, SIG_DFL);  // this program ignores it
    return ::execvp(arguments.front(), arguments.data()), errno;
  };
  sigset_t taken, before;
  sigfillset(&taken);
  for (const int of_job_control : {SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT}) sigdelset(&taken, of_job_control);
  volatile int error = 0;  // the child of vfork() has the same
  int status = 0;
  if (!as_child) {
    error = become();
  } else {
    ::signal(SIGCHLD, SIG_DFL);  // ignored, it would not be told of
    ::sigprocmask(SIG_BLOCK, &taken, &before);
    const pid_t child = ::vfork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::sigprocmask(SIG_SETMASK, &before, nullptr);
      error = become();
      ::_exit(127);
    }
    if (child < 0) error = errno;
    // What the terminal sends reaches the child by itself.
    for (siginfo_t info; child > 0 && ::waitpid(child, &status, WNOHANG) == 0;) {
      if (::sigwaitinfo(&taken, &info) > 0 && info.si_signo != SIGCHLD && info.si_code <= 0)
        ::kill(child, info.si_signo);
    }
  }
  if (error != 0)
    throw UsageError(
        fmt::format("{}: could not be started: {}", options.command.front(), std::generic_category().message(error)));
  return status;
}

/// The child's exit status; if a signal ended it, the same one ends this process.
int end_as(int wait_status) {
  if (WIFEXITED(wait_status)) return WEXITSTATUS(wait_status);
  const int number = WTERMSIG(wait_status);
  sigset_t all;
  sigfillset(&all);
  ::prctl(PR_SET_DUMPABLE, 0);  // the child has left its core
  ::signal(number, SIG_DFL);
  ::raise(number);
  ::sigprocmask(SIG_UNBLOCK, &all, nullptr);
  return 128 + number;
}

int run_capture(const ShimOptions& options) {
  PrivateFolder own = is_stdout(options.output) ? make_private_folder() : nullptr;
  const std::string given = own ? "-" : options.output;
  const fs::path output = own ? *own / "workload.%p" : fs::absolute(given);
  require_new_file(output, given);
  buckets_given(options.buckets);
  set("TILESMITH_CUBLAS", "capture");
  set("TILESMITH_CAPTURE_BUCKETS", options.buckets);
  set("TILESMITH_CAPTURE", output.string());
  preload(options, own);
  const std::set<fs::path> before = captured_files(output);
  const int status = start(options, true);
  std::set<fs::path> files = captured_files(output);
  for (const fs::path& file : before) files.erase(file);
  report_captured(files, given, options.by_name != 0);
  own.reset();
  return end_as(status);
}

/// Compiles what these workloads need into the cache on disk, from which the program then loads it. The program may run
/// without, so that a failure is no more than a line.
void prepare(const std::vector<std::string>& files) {
  std::vector<Problem> problems;
  for (const std::string& file : files) {
    for (const WeightedTask& one : load_workload(file).tasks) {
      if (one.task.is_gemm()) problems.push_back(one.task.problem());
    }
  }
  if (problems.empty()) return;
  LibraryOptions options;
  options.log_misses = false;
  std::size_t tenths = 0;
  const auto tell = [&](std::size_t done, std::size_t total, const std::string&) {
    if (done * 10 / total == tenths) return;
    tenths = done * 10 / total;
    fmt::print(stderr, "tilesmith run: prepared {} of {} problems\n", done, total);
  };
  try {
    Library::open_default(options).prepare_all(problems, tell);
  } catch (const Error& error) {
    fmt::print(stderr, "tilesmith run: --prepare: {}\n", error.what());
  }
}

int run_run(const ShimOptions& options) {
  set("TILESMITH_CUBLAS", options.check ? "check" : "run");
  if (names_database(options.db)) {  // else it is what the library opens by default
    const fs::path path = fs::absolute(database_path(options.db));
    std::error_code error;
    if (!fs::exists(path, error))
      throw UsageError(fmt::format("{}: no such file; expected a database or a bundle", path.string()));
    set("TILESMITH_DB", path.string());
  }
  prepare(options.prepare);
  PrivateFolder links;
  preload(options, links);
  const int status = start(options, links != nullptr);
  links.reset();
  return end_as(status);
}

void add_common(CLI::App& app, ShimOptions& options) {
  app.add_option("--by-name", options.by_name,
         "The program opens cuBLAS of this major version by name, with dlopen, as plug-ins do; it need not be "
         "linked with it")
      ->check(CLI::IsMember({12, 13}));
  app.add_flag("--lt-too", options.lt_too,
         "With --by-name: it opens cuBLASLt by name as well, as JAX does. A cuBLAS newer than this build may "
         "miss a function then")
      ->needs("--by-name");
  AddOption{app}("--shim-dir", options.shim_dir, "FOLDER", "Folder of the shims; default: beside this program");
  app.add_option("COMMAND", options.command, "The program and its arguments, behind --")->required();
}

}  // namespace

Command add_capture(CLI::App& program) {
  const auto [app, options, add] = new_command<ShimOptions>(
      program, "capture", "Start a program and write which products it asks cuBLAS for, as a workload");
  add("-o,--output", options->output, "FILE",
      "The workload file to write; %p in its name becomes each process's number (- writes to stdout, at "
      "the program's end)")
      ->required();
  add_buckets_option(*app, options->buckets);
  add_common(*app, *options);
  app->footer(
      "The program runs as ever: all calls go to cuBLAS. The file has a line for each problem, weighted by its calls. Problems that\n"
      "differ in M alone, as with a server's batch sizes, stand together. Only sizes that are listed are tuned, and only what was\n"
      "tuned is taken over: --buckets adds sizes that may come. The file is written while the program runs, and at its end. Where the\n"
      "program starts others, each has a file: the first FILE, the next FILE.PID. At the end the files are named, with the line that\n"
      "tunes them all. The exit status is the program's, also where it made no call.\n"
      "\nExample:\n"
      "  tilesmith capture -o app.workload -- python serve.py\n"
      "  tilesmith tune --workload app.workload --budget 8h --db app.db\n"
      "  tilesmith run --db app.db -- python serve.py");
  return {app, [options = options] { return run_capture(*options); }};
}

Command add_run(CLI::App& program) {
  const auto [app, options, add] = new_command<ShimOptions>(
      program, "run", "Start a program whose calls of cuBLAS are served where the database is faster");
  add_database_option(*app, options->db);
  app->add_flag("--check", options->check,
      "Have each product computed by both, compare them, and give the program cuBLAS's results; slow");
  app->add_option("--prepare", options->prepare,
         "A workload file, as capture writes it; repeatable. Before the program starts, its kernels for device 0 are "
         "compiled side by side and kept on disk, from where the program loads them")
      ->type_name("FILE");
  add_common(*app, *options);
  app->footer(
      "A call is taken over where this device has a valid record that was timed beside cuBLAS and is faster; all others go\n"
      "to cuBLAS. At the program's end a table on stderr says what was taken over and why the rest was not. The exit status is\n"
      "the program's.\n"
      "While neither --db nor $TILESMITH_DB is given and you have no database of your own, the bests that ship for the device are\n"
      "used.\n"
      "\nExample:\n"
      "  tilesmith run --db app.db -- python serve.py");
  return {app, [options = options] { return run_run(*options); }};
}

}  // namespace tilesmith::tuner
