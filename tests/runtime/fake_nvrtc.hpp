// An NVRTC 12.4 that makes a cubin of any source, and notes what it is asked.
#pragma once

#include <atomic>
#include <cstring>
#include <functional>
#include <string>

#include "runtime/compile/nvrtc.hpp"

namespace tilesmith::runtime::fake {

struct Compiler {
  std::atomic<int> compiled{0};
  std::function<bool(const std::string& source)> refuses;  ///< empty: none
  std::function<void()> while_compiling;
};
inline Compiler& compiler() {
  static Compiler the_compiler;
  return the_compiler;
}

/// In the place of NVRTC for as long as it lives.
class FakeNvrtc {
 public:
  FakeNvrtc() : table_(make_table()), scoped_(table_) {
    compiler().compiled = 0;
    compiler().refuses = nullptr;
    compiler().while_compiling = nullptr;
  }

 private:
  static constexpr char kImage[] = ".version 8.0 // was compiled\n.entry softmax(\n";

  static Nvrtc make_table() {
    Nvrtc t;
    t.major = 12;
    t.minor = 4;
    t.create = [](Nvrtc::Program* program, const char* source, const char*, int, const char* const*,
                   const char* const*) {
      *program = reinterpret_cast<Nvrtc::Program>(new std::string(source));
      return 0;
    };
    t.destroy = [](Nvrtc::Program* program) {
      delete reinterpret_cast<std::string*>(*program);
      return 0;
    };
    t.compile = [](Nvrtc::Program program, int, const char* const*) {
      ++compiler().compiled;
      if (compiler().while_compiling) compiler().while_compiling();
      const bool refused = compiler().refuses && compiler().refuses(*reinterpret_cast<std::string*>(program));
      return refused ? 6 : 0;
    };
    t.add_name = [](Nvrtc::Program, const char*) { return 0; };
    t.error_text = [](int) { return "NVRTC_ERROR_COMPILATION"; };
    t.log_size = [](Nvrtc::Program, std::size_t* bytes) {
      *bytes = 0;
      return 0;
    };
    t.cubin_size = [](Nvrtc::Program, std::size_t* bytes) {
      *bytes = sizeof kImage;
      return 0;
    };
    t.cubin = [](Nvrtc::Program, char* bytes) {
      std::memcpy(bytes, kImage, sizeof kImage);
      return 0;
    };
    return t;
  }

  Nvrtc table_;
  ScopedNvrtc scoped_;
};

}  // namespace tilesmith::runtime::fake
