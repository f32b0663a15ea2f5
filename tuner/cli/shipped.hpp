// What ships with the program: databases of bests, and recordings to replay where there is no GPU.
#pragma once

#include <string>

#include "db/store.hpp"

namespace tilesmith::tuner {

/// Opens what --db or $TILESMITH_DB names, else your own database. While that has no evidence, the bests that ship for such a device
/// (--device, else the GPU here, else an H200) take its place, and one line on stderr says so. Throws StoreError.
db::Store open_to_read(const std::string& given, const std::string& device);

/// The recording that ships under this name ("h100"), if no file has it; else what was given.
std::string recording_named(const std::string& given);

}  // namespace tilesmith::tuner
