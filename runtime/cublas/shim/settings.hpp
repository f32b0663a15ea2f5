// What the environment asks of the shim. Read once, when the first call comes; a wrong value is one line on stderr.
#pragma once

#include <string>

#include "runtime/cublas/calls/buckets.hpp"

namespace tilesmith::cublas {

enum class Mode { off, capture, run, check };
const char* name(Mode mode);

struct Settings {
  Mode mode = Mode::run;    // TILESMITH_CUBLAS
  std::string database;     // TILESMITH_DB; empty: what the library opens by default
  std::string capture;      // TILESMITH_CAPTURE, absolute; %p in its name is the process's number
  Buckets buckets;          // TILESMITH_CAPTURE_BUCKETS: sizes of M in that file which were not seen
  std::string library;      // TILESMITH_LIBRARY: libtilesmith itself; empty: beside the shim
  std::string real_cublas;  // TILESMITH_REAL_CUBLAS: the file of cuBLAS; empty: searched for
};

const Settings& settings();

/// One line on stderr, begun with "tilesmith: cublas: ". None with TILESMITH_LOG=off, or where stderr is not what it
/// was when the shim was loaded.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);
/// Lines as they are.
void say_lines(const std::string& lines);

/// False with errno set if not all was written. A full file or a broken pipe sends the program no signal, which would
/// end it.
bool write_whole(int file, const std::string& text);

}  // namespace tilesmith::cublas
