// A test's check as a user who is not root.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <functional>

namespace tilesmith::db::test {

/// Runs `check` in a child process without root's privileges; returns its exit status.
inline int as_ordinary_user(const std::function<bool()>& check) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) ::_exit(3);
    bool passed = false;
    try {
      passed = check();
    } catch (const std::exception& error) {
      ::fprintf(stderr, "%s\n", error.what());
    }
    ::_exit(passed ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace tilesmith::db::test
