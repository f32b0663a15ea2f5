// A library opened at run time, and its symbols.
#pragma once

#include <filesystem>
#include <string>

namespace tilesmith::runtime {

/// Move-only owner of a dlopen handle. Closing it makes every symbol taken from it invalid; owners that live as long as
/// the process call keep_open().
class SharedLibrary {
 public:
  SharedLibrary() = default;
  SharedLibrary(SharedLibrary&& other) noexcept;
  SharedLibrary& operator=(SharedLibrary&& other) noexcept;
  ~SharedLibrary();

  /// `name`: a file, or a soname that the loader looks up. Returns a closed one and sets `error` (the loader's words) if
  /// it does not open.
  static SharedLibrary open(const std::string& name, std::string& error);

  explicit operator bool() const { return handle_ != nullptr; }

  /// The symbol's address, or nullptr.
  void* symbol(const char* name) const;

  /// Leaves the library open until the process ends: threads may still run its code while statics are destroyed.
  void keep_open() noexcept { handle_ = nullptr; }

 private:
  void* handle_ = nullptr;
};

/// The file that holds this address (a function of a loaded library or of the program), resolved; empty if unknown.
std::filesystem::path file_of_address(const void* address);

}  // namespace tilesmith::runtime
