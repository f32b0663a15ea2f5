// A library opened at run time, and its symbols.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace tilesmith::runtime {

/// Move-only owner of a dlopen handle. Closing it makes every symbol taken from it invalid; owners that live as long as
/// the process call keep_open().
class SharedLibrary {
 public:
  /// `name`: a file, or a soname that the loader looks up. Returns a closed one and sets `error` (the loader's words)
  /// if it does not open.
  static SharedLibrary open(const std::string& name, std::string& error);

  explicit operator bool() const { return handle_ != nullptr; }

  /// The symbol's address, or nullptr.
  void* symbol(const char* name) const;

  /// Leaves the library open until the process ends: threads may still run its code while statics are destroyed.
  void keep_open() noexcept { static_cast<void>(handle_.release()); }

 private:
  struct Close {
    void operator()(void* handle) const noexcept;
  };
  std::unique_ptr<void, Close> handle_;
};

/// The file that holds this address (a function of a loaded library or of the program), resolved; empty if unknown.
std::filesystem::path file_of_address(const void* address);

}  // namespace tilesmith::runtime
