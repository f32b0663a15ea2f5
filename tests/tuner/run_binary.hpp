// Runs the built program as a process, in a folder of its own, as a user without a GPU would.
#pragma once

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tilesmith::tests {

/// A folder that goes with its test.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tilesmith-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

struct Finished {
  int status = -1;  ///< exit status; 1000 + signal if it was killed
  std::string out, err;
};

inline std::size_t lines_of(const std::string& text) {
  std::size_t lines = 0;
  for (const char c : text) lines += c == '\n' ? 1 : 0;
  return lines;
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// A started process; stdout and stderr go to files in its folder.
class Started {
 public:
  Started(const TempFolder& folder, const std::vector<std::string>& arguments,
      const std::map<std::string, std::string>& environment = {})
      : out_(folder / "stdout.txt"), err_(folder / "stderr.txt") {
    std::vector<std::string> words{TILESMITH_BINARY};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error("fork failed");
    if (pid_ == 0) {
      ::setenv("HOME", folder.path().c_str(), 1);
      ::setenv("CUDA_VISIBLE_DEVICES", "", 1);  // no GPU, wherever the test runs
      for (const char* unset :
          {"TILESMITH_DB", "XDG_DATA_HOME", "TILESMITH_FAMILY_DIR", "SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX"})
        ::unsetenv(unset);
      for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
      const bool ready = ::chdir(folder.path().c_str()) == 0 && redirect("/dev/null", STDIN_FILENO, O_RDONLY) &&
                         redirect(out_, STDOUT_FILENO, O_WRONLY | O_CREAT | O_TRUNC) &&
                         redirect(err_, STDERR_FILENO, O_WRONLY | O_CREAT | O_TRUNC);
      if (ready) ::execv(TILESMITH_BINARY, argv.data());
      ::_exit(127);
    }
  }
  ~Started() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;

  void signal(int number) const { ::kill(pid_, number); }
  pid_t pid() const { return pid_; }
  /// Whether it has ended; its status is still wait()'s to tell.
  bool ended() const {
    siginfo_t info{};
    return ::waitid(P_PID, id_t(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
  }
  std::string err_so_far() const { return read_file(err_); }

  Finished wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status), read_file(out_), read_file(err_)};
  }

 private:
  static bool redirect(const std::string& path, int to, int flags) {
    const int fd = ::open(path.c_str(), flags, 0644);
    return fd >= 0 && ::dup2(fd, to) == to;
  }

  std::string out_, err_;
  pid_t pid_ = -1;
};

inline Finished run(const TempFolder& folder, const std::vector<std::string>& arguments,
    const std::map<std::string, std::string>& environment = {}) {
  return Started(folder, arguments, environment).wait();
}

/// The exit status of a line of bash in the folder, in which `tilesmith` is the program and nothing is said on stderr.
inline int shell(const TempFolder& folder, const std::string& line) {
  write_file(folder / "line.sh", "cd '" + folder.path().string() + "'\nexport HOME=$PWD CUDA_VISIBLE_DEVICES=\nPATH='" +
                                     std::filesystem::path(TILESMITH_BINARY).parent_path().string() + "':$PATH\n" +
                                     line + "\n");
  return std::system(("bash '" + (folder / "line.sh") + "' 2>/dev/null").c_str());
}

}  // namespace tilesmith::tests
