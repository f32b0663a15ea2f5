// What the tuner asks of a task, be it a GEMM problem or a kernel of a user's own.
#pragma once

#include <optional>
#include <string>

#include "kernels/families/family.hpp"
#include "kernels/problem/task.hpp"

namespace tilesmith {

/// Whether this process knows the family, or the kernel of a user's own, that a config names.
bool is_loaded(const std::string& family);

/// Why the config must not run for the task on such a device, in one line; empty if it may. Any task and config may be
/// asked about: one that is not well formed, or whose family is not known, is refused.
std::optional<std::string> refused_because(const Config& config, const Task& task, const DeviceLimits& limits);

/// The canonical text of what a kernel for the task is compiled for: a GEMM problem's signature, or "kernel NAME".
std::string signature_text(const Task& task);

/// Why the task is none that can be tuned here: it is not well formed, there is nothing to do, or its kernel is not
/// loaded or has other sizes. One line; empty if it is one.
std::optional<std::string> no_task_because(const Task& task);

/// Bytes of its operands: what has to fit the device.
double operand_bytes(const Task& task);

}  // namespace tilesmith
