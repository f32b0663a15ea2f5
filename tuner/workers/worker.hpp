// The child processes' side: what a worker does.
#pragma once

namespace tilesmith::tuner {

/// The child process's main: `tilesmith worker compile` / `tilesmith worker measure --device N [--as ARCH]`. Takes the
/// program's own arguments.
int worker_main(int argc, const char* const* argv);

}  // namespace tilesmith::tuner
