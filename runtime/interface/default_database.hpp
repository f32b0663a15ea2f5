// The database that is opened where none is named.
#pragma once

#include <filesystem>

#include "db/store/device_identity.hpp"

namespace tilesmith::runtime {

/// $TILESMITH_DB; empty if it is not set.
std::filesystem::path named_database();

/// Where `tilesmith tune` records if no database is named: tilesmith/tuned.db below $XDG_DATA_HOME, else below
/// ~/.local/share. Empty if neither is known.
std::filesystem::path own_database();

/// The folder of the databases that ship with the library or program `own_file`: bests/ beside its folder (a wheel), or
/// share/tilesmith/bests of the installation or build folder that it is in. Empty if there is none.
std::filesystem::path shipped_bests_folder(const std::filesystem::path& own_file);

/// Finds the database in the folder whose device is most like this one: it has the same compute capability, and its name
/// begins with the most of the same letters ("NVIDIA H100 PCIe", "NVIDIA H100 80GB HBM3"). Empty if there is none.
/// Throws db::StoreError if a database cannot be read.
std::filesystem::path bests_of_device_like(const db::DeviceIdentity& device, const std::filesystem::path& folder);

/// What ships with this library for the device or one like it. Empty: nothing does, or there is no such device. Throws
/// db::StoreError.
std::filesystem::path shipped_bests(int device);

/// The first that is there: named_database(), even if no such file exists; own_database(); shipped_bests().
/// Empty: no records. Throws db::StoreError.
std::filesystem::path default_database(int device);

}  // namespace tilesmith::runtime
