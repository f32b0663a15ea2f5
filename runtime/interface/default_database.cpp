#include "runtime/interface/default_database.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <set>
#include <string>
#include <system_error>

#include "db/store/store.hpp"
#include "runtime/driver/device.hpp"
#include "runtime/driver/shared_library.hpp"

namespace tilesmith::runtime {
namespace {

namespace fs = std::filesystem;

fs::path path_in(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::size_t common_beginning(const std::string& a, const std::string& b) {
  return std::size_t(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace

fs::path named_database() { return path_in("TILESMITH_DB"); }

fs::path own_database() {
  const fs::path data = path_in("XDG_DATA_HOME"), home = path_in("HOME");
  if (data.is_absolute()) return data / "tilesmith" / "tuned.db";
  return home.empty() ? fs::path() : home / ".local" / "share" / "tilesmith" / "tuned.db";
}

fs::path shipped_bests_folder(const fs::path& own_file) {
  const fs::path above = own_file.parent_path().parent_path();  // lib/ of a multi-architecture system has one more
  std::error_code error;
  for (const fs::path& folder :
      {above / "bests", above / "share/tilesmith/bests", above.parent_path() / "share/tilesmith/bests"}) {
    if (fs::is_directory(folder, error)) return folder;
  }
  return {};
}

fs::path bests_of_device_like(const db::DeviceIdentity& device, const fs::path& folder) {
  std::set<fs::path, std::greater<>> files;  // of devices as like, the later name's
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".db") files.insert(at->path());
  }
  fs::path most_like;
  std::size_t longest = 0;
  for (const fs::path& file : files) {
    for (const db::DeviceIdentity& of : db::Store::open_read_only(file).devices()) {
      const std::size_t common = common_beginning(of.name, device.name);
      if (of.sm != device.sm || (!most_like.empty() && common <= longest)) continue;
      most_like = file;
      longest = common;
    }
  }
  return most_like;
}

fs::path shipped_bests(int device) {
  static const char own_address = 0;  // any address of this code tells which file it is in
  const fs::path folder = shipped_bests_folder(file_of_address(&own_address));
  if (folder.empty()) return {};
  db::DeviceIdentity identity;
  try {
    identity = device_info(device).identity;
  } catch (const DeviceError&) {
    return {};  // whoever opens the device is told
  }
  return bests_of_device_like(identity, folder);
}

fs::path default_database(int device) {
  if (const fs::path named = named_database(); !named.empty()) return named;
  std::error_code error;
  if (const fs::path own = own_database(); !own.empty() && fs::exists(own, error)) return own;
  return shipped_bests(device);
}

}  // namespace tilesmith::runtime
