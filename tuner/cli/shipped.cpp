#include "tuner/cli/shipped.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "runtime/driver/shared_library.hpp"
#include "tuner/cli/options.hpp"
#include "tuner/cli/target.hpp"
#include "tuner/cli/terminal.hpp"

namespace tilesmith::tuner {
namespace {

namespace fs = std::filesystem;

/// The folder `bests` or `recordings`: of a wheel beside bin/, of an installation or a build folder in share/tilesmith.
fs::path shipped_folder(const char* kind) {
  const fs::path above = runtime::file_of_address(reinterpret_cast<const void*>(&shipped_folder)).parent_path().parent_path();
  std::error_code error;
  const fs::path of_wheel = above / kind;
  return fs::is_directory(of_wheel, error) ? of_wheel : above / TILESMITH_SHARE_FOLDER / kind;
}

/// The newest device first: h200.db, h100.db.
std::vector<fs::path> shipped_bests() {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(shipped_folder("bests"), error)) {
    if (entry.path().extension() == ".db") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end(), std::greater<>());
  return files;
}

/// The bests that ship for the device; where none is named and the GPU here has none, the first.
std::optional<db::Store> bests_for(const std::string& device) {
  const auto here = device.empty() ? first_supported() : std::nullopt;
  const std::string name = here ? here->identity.name : device;
  std::optional<db::Store> first;
  for (const fs::path& file : shipped_bests()) {
    db::Store store = db::Store::open_read_only(file);
    if (name.empty() || !db::meant_by(store.devices(), name).empty()) return store;
    if (device.empty() && !first) first = std::move(store);
  }
  return first;
}

}  // namespace

db::Store open_to_read(const std::string& given, const std::string& device) {
  const fs::path path = database_path(given);
  std::error_code error;
  const bool may_be_missing = !names_database(given);
  const bool there = fs::exists(path, error);
  if (there || !may_be_missing) {
    db::Store own = db::Store::open_read_only(path);
    if (!may_be_missing || own.last_entry() != 0) return own;
  }
  if (std::optional<db::Store> bests = bests_for(device)) {
    Screen::instance().print_line(fmt::format("{} {}; these are the bests that ship, {}", path.string(),
                                              there ? "holds no evidence yet" : "is not there yet", bests->path().lexically_normal().string()));
    return *std::move(bests);
  }
  return db::Store::open_read_only(path);
}

std::string recording_named(const std::string& given) {
  std::error_code error;
  const fs::path shipped = shipped_folder("recordings") / (given + ".jsonl.zst");
  const bool is_name = !given.empty() && given.find('/') == std::string::npos && !fs::exists(given, error);
  return is_name && fs::exists(shipped, error) ? shipped.lexically_normal().string() : given;
}

}  // namespace tilesmith::tuner
