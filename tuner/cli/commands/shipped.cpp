// What ships with the program: databases of bests, and recordings.
#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <set>

#include "runtime/driver/shared_library.hpp"
#include "tuner/cli/options/options.hpp"
#include "tuner/cli/options/target.hpp"
#include "tuner/cli/output/terminal.hpp"

namespace tilesmith::tuner {
namespace {

namespace fs = std::filesystem;

/// The folder `bests` or `recordings`: of a wheel beside bin/, of an installation or a build folder in share/tilesmith.
fs::path shipped_folder(const char* kind) {
  const fs::path above = runtime::file_of_address(reinterpret_cast<const void*>(&shipped_folder)).parent_path().parent_path();
  std::error_code error;
  return fs::is_directory(above / kind, error) ? above / kind : above / TILESMITH_SHARE_FOLDER / kind;
}

/// The bests that ship for the device; where none is named and the GPU here has none, the first of h200.db, h100.db.
std::optional<db::Store> bests_for(const std::string& device) {
  std::set<fs::path, std::greater<>> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(shipped_folder("bests"), error))
    if (entry.path().extension() == ".db") files.insert(entry.path());
  const auto here = device.empty() ? first_supported() : std::nullopt;
  for (const fs::path& file : files) {
    db::Store store = db::Store::open_read_only(file);
    if (!db::meant_by(store.devices(), here ? here->identity.name : device).empty()) return store;
  }
  return device.empty() && !files.empty() ? std::optional(db::Store::open_read_only(*files.begin())) : std::nullopt;
}

}  // namespace

db::Store open_to_read(const std::string& given, const std::string& device) {
  const fs::path path = database_path(given);
  std::error_code error;
  const bool there = names_database(given) || fs::exists(path, error);
  if (there) {
    db::Store own = db::Store::open_read_only(path);
    if (names_database(given) || own.last_entry() != 0) return own;
  }
  std::optional<db::Store> bests = bests_for(device);
  if (!bests) return db::Store::open_read_only(path);
  Screen::instance().print_line(fmt::format("{} {}; these are the bests that ship, {}", path.string(), there ? "holds no records yet" : "is not there yet",
                                            bests->path().lexically_normal().string()));
  return *std::move(bests);
}

std::string recording_named(const std::string& given) {
  std::error_code error;
  const fs::path shipped = shipped_folder("recordings") / (given + ".jsonl.zst");
  const bool is_name = given.find('/') == std::string::npos && !fs::exists(given, error);
  return is_name && fs::exists(shipped, error) ? shipped.lexically_normal().string() : given;
}

}  // namespace tilesmith::tuner
