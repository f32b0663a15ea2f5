// Another program, run as if it were this one: for commands that have something to do at its end.
#pragma once

#include <string>
#include <vector>

namespace tilesmith::tuner {

/// Runs it to its end. What is sent to this process meanwhile goes to it, and if this one is killed, so is it. Returns what waitpid() said.
/// Throws UsageError if it could not be started.
int run_child(const std::vector<std::string>& command);

/// Becomes the program, in the same process. Returns only by throwing UsageError.
[[noreturn]] void become(const std::vector<std::string>& command);

/// The child's exit status; if a signal killed it, the same one ends this process.
int end_as(int wait_status);

}  // namespace tilesmith::tuner
