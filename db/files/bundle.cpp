// The file, all integers little-endian:
//
//   offset  bytes  what
//        0      8  "TSBUNDLE"
//        8      4  format version
//       12      4  zero
//       16      8  payload bytes
//       24     32  XXH3-128 of the payload, hex
//       56      .  payload
//
//   payload: u64 bytes of the index | index (JSON in a zstd frame) | cubins (a zstd frame each, back to back)
//
// The index names each build's cubin by where its frame lies after the index: {"offset":..,"bytes":..}. Builds of equal
// content share a frame.
#include "db/files/bundle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <span>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "db/exchange/export.hpp"
#include "db/exchange/record_json.hpp"
#include "db/files/compress.hpp"
#include "db/files/files.hpp"
#include "kernels/base/on_all_cores.hpp"

namespace tilesmith::db {
namespace {

constexpr std::string_view kMagic = "TSBUNDLE";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kBundleHeaderBytes = 56;
constexpr std::size_t kHashDigits = 32;
// What is small when compressed may be of any size: more than these no sound bundle has.
constexpr std::size_t kLargestIndexBytes = std::size_t{64} << 20;
constexpr std::size_t kLargestBundledCubinBytes = std::size_t{64} << 20;
constexpr int kCubinLevel = 15;  // zstd's; 19 takes four times as long for 1% less

template <typename T>
void put_little_endian(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof value; ++i) out += char(value >> (8 * i) & 0xff);
}

template <typename T>
T get_little_endian(std::string_view bytes) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i) value |= T(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return value;
}

/// What a build of a bundle can be: right, and as a generic kernel that spills better than none.
bool runs(Status status) { return status == Status::ok || status == Status::spilled; }

Json build_to_json(const KernelBuild& build) {
  Json json{{"config", build.key.config.text()}, {"signature", build.key.signature}};
  put_fields(json, build.key);
  put_fields(json, build);
  if (build.status != Status::ok) json["status"] = std::string(name(build.status));
  return json;
}

/// `bytes_left`: of all cubins that are still to come.
KernelBuild build_of(const Json& json, std::string_view frames, std::size_t& bytes_left) {
  KernelBuild build = fields_from<KernelBuild>(json);
  build.key = fields_from<KernelKey>(json);
  build.key.config = config_at(json, "config");
  build.key.signature = text_at(json, "signature");
  if (std::string error; !is_of_kernel(build.key.signature) && !parse_signature(build.key.signature, error))
    throw FormatError(fmt::format("its signature: {}", error));
  const std::string status_text = text_at(json, "status", name(Status::ok));
  const auto status = parse_status(status_text);
  if (!status || !runs(*status))
    throw FormatError(fmt::format("\"status\" is '{}': expected ok or spilled", status_text));
  build.status = *status;
  const auto offset = std::size_t(integer_at(json, "offset", 0, std::int64_t(frames.size())));
  const auto bytes = std::size_t(integer_at(json, "bytes", 1, std::int64_t(frames.size() - offset)));
  auto cubin = decompress(as_bytes(frames.substr(offset, bytes)), std::min(kLargestBundledCubinBytes, bytes_left));
  if (!cubin || cubin->empty()) {
    throw FormatError(
        fmt::format("its cubin does not decompress: expected one of up to {} MiB, and all of up to {} MiB",
            kLargestBundledCubinBytes >> 20, kLargestCubinsBytes >> 20));
  }
  build.cubin = *std::move(cubin);
  bytes_left -= build.cubin.size();
  return build;
}

using OnPacked = std::function<void(std::size_t, std::size_t)>;

/// A frame of each cubin, in their order.
std::vector<std::vector<std::byte>> frames_of(
    std::span<const std::vector<std::byte>* const> cubins, const OnPacked& on_packed) {
  std::vector<std::vector<std::byte>> frames(cubins.size());
  std::mutex telling;
  std::size_t done = 0;
  on_all_cores(cubins.size(), [&](std::size_t i) {
    frames[i] = compress(*cubins[i], kCubinLevel);
    const std::scoped_lock lock(telling);
    on_packed(++done, cubins.size());
  });
  return frames;
}

void require_fit(const KernelBuild& build, std::size_t cubins_bytes_left) {
  if (!runs(build.status) || build.cubin.empty()) {
    throw FormatError(
        fmt::format("the build of {} is {}: expected only builds that are ok or spilled, with their cubins",
            build.key.config.text(), name(build.status)));
  }
  if (build.cubin.size() > kLargestBundledCubinBytes || build.cubin.size() > cubins_bytes_left) {
    throw FormatError(fmt::format("the cubin of {} has {} bytes: expected up to {} MiB, and all of up to {} MiB",
        build.key.config.text(), build.cubin.size(), kLargestBundledCubinBytes >> 20, kLargestCubinsBytes >> 20));
  }
}

std::string payload_of(const Bundle& bundle, const OnPacked& on_packed) {
  Json index;
  index["device"] = to_json(bundle.device);
  index["arch"] = bundle.arch;
  index["made_at"] = bundle.made_at.empty() ? now_utc() : bundle.made_at;
  index["bests"] = Json::array();
  for (const Record& best : bundle.bests) {
    require_consistent(best);
    index["bests"].push_back(to_json(best));
  }
  for (const VendorTimes& times : bundle.vendor) {
    if (const auto wrong = vendor_times_error(times)) throw FormatError("vendor_times: " + *wrong);
  }
  if (!bundle.vendor.empty()) index["vendor_times"] = vendor_times_to_json(bundle.vendor);
  std::vector<const std::vector<std::byte>*> cubins;   // those of equal content once
  std::unordered_map<std::string, std::size_t> known;  // of each content hash its place there
  std::vector<std::size_t> cubin_of;                   // of each build
  std::size_t cubins_bytes_left = kLargestCubinsBytes;
  for (const KernelBuild& build : bundle.builds) {
    require_fit(build, cubins_bytes_left);
    cubins_bytes_left -= build.cubin.size();
    const auto [place, is_new] = known.try_emplace(content_hash(build.cubin), cubins.size());
    if (is_new) cubins.push_back(&build.cubin);
    cubin_of.push_back(place->second);
  }
  std::string frames;
  std::vector<std::pair<std::size_t, std::size_t>> places;  // of each cubin: offset, bytes
  for (const std::vector<std::byte>& frame : frames_of(cubins, on_packed)) {
    places.emplace_back(frames.size(), frame.size());
    frames += as_text(frame);
  }
  index["builds"] = Json::array();
  for (std::size_t i = 0; i < bundle.builds.size(); ++i) {
    Json entry = build_to_json(bundle.builds[i]);
    entry["offset"] = places[cubin_of[i]].first;
    entry["bytes"] = places[cubin_of[i]].second;
    index["builds"].push_back(std::move(entry));
  }
  const std::string line = to_line(index);
  if (line.size() > kLargestIndexBytes) {
    throw FormatError(
        fmt::format("its index has {} bytes: expected up to {} MiB", line.size(), kLargestIndexBytes >> 20));
  }
  const std::vector<std::byte> packed_index = compress(as_bytes(line), 19);
  std::string payload;
  put_little_endian<std::uint64_t>(payload, packed_index.size());
  payload += as_text(packed_index);
  return payload + frames;
}

/// The payload, once its header and hash are found right.
std::string_view checked_payload(std::string_view file) {
  if (file.substr(0, kMagic.size()) != kMagic) throw FormatError("is no Tilesmith bundle: expected one");
  if (file.size() < kBundleHeaderBytes) throw FormatError("is truncated in its header: expected a whole bundle");
  const auto version = get_little_endian<std::uint32_t>(file.substr(8, 4));
  if (version != kVersion) {
    throw FormatError(fmt::format("bundle version {} is {} than this program's: expected {}", version,
        version > kVersion ? "newer" : "older", kVersion));
  }
  const auto size = get_little_endian<std::uint64_t>(file.substr(16, 8));
  const std::string_view payload = file.substr(kBundleHeaderBytes);
  if (payload.size() != size) {
    throw FormatError(fmt::format("is {}: expected {} bytes after the header, found {}",
        payload.size() < size ? "truncated" : "longer than it says", size, payload.size()));
  }
  if (content_hash(as_bytes(payload)) != file.substr(24, kHashDigits)) {
    throw FormatError("is corrupt (its hash differs): expected a sound bundle; copy it again");
  }
  return payload;
}

Bundle bundle_of(std::string_view file, std::size_t cubins_bytes) {
  const std::string_view payload = checked_payload(file);
  if (payload.size() < 8) throw FormatError("is truncated before its index");
  const auto index_bytes = get_little_endian<std::uint64_t>(payload);
  if (index_bytes > payload.size() - 8) throw FormatError("is truncated in its index");
  const auto index_text = decompress(as_bytes(payload.substr(8, index_bytes)), kLargestIndexBytes);
  if (!index_text) {
    throw FormatError(
        fmt::format("its index does not decompress: expected one of up to {} MiB", kLargestIndexBytes >> 20));
  }
  const Json index = parse_json(as_text(*index_text));
  const std::string_view frames = payload.substr(8 + index_bytes);

  Bundle bundle;
  bundle.device = device_from_json(object_at(index, "device"));
  bundle.arch = text_at(index, "arch");
  bundle.made_at = text_at(index, "made_at");
  const auto add_best = [&](const Json& entry) { bundle.bests.push_back(record_from_json(entry)); };
  const auto add_build = [&](const Json& entry) { bundle.builds.push_back(build_of(entry, frames, cubins_bytes)); };
  for_each_at(index, "bests", "bests, entry", add_best);
  bundle.vendor = vendor_times_of(index);
  for_each_at(index, "builds", "builds, entry", add_build);
  return bundle;
}

[[noreturn]] void refuse(const std::filesystem::path& path, const FormatError& error) {
  throw StoreError(fmt::format("{}: {}", path.string(), error.what()));
}

}  // namespace

std::size_t save_bundle(const Bundle& bundle, const std::filesystem::path& path, const OnPacked& on_packed) {
  try {
    const std::string payload = payload_of(bundle, on_packed);
    std::string file(kMagic);
    put_little_endian<std::uint32_t>(file, kVersion);
    put_little_endian<std::uint32_t>(file, 0);
    put_little_endian<std::uint64_t>(file, payload.size());
    file += content_hash(as_bytes(payload));
    file += payload;
    write_file_atomically(path, file);
    return file.size();
  } catch (const FormatError& error) {
    refuse(path, error);
  }
}

Bundle load_bundle(const std::filesystem::path& path) { return parse_bundle(read_file(path, "a bundle"), path); }

Bundle parse_bundle(std::string_view file, const std::filesystem::path& path, std::size_t cubins_bytes) {
  try {
    return bundle_of(file, cubins_bytes);
  } catch (const FormatError& error) {
    refuse(path, error);
  }
}

bool begins_as_bundle(std::string_view file) { return file.starts_with(kMagic); }

bool is_bundle(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && begins_as_bundle(first_bytes(path, kMagic.size()));
}

}  // namespace tilesmith::db
