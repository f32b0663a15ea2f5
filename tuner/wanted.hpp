// Which entries of a database a command is about: what --type, --trans, --shape, --family and --device name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db/store/store.hpp"

namespace tilesmith::tuner {

struct Shape {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t batch = 0;  ///< entries of a strided batch; 0: none was named
};

/// Lists match if any member does; empty ones match everything.
struct Wanted {
  std::vector<TypePair> types;
  std::vector<Transposes> trans;
  std::vector<Shape> shapes;
  std::vector<std::string> families;
  std::vector<std::string> kernels;           ///< of users' own: empty: GEMM problems are meant, else these alone
  std::string device;                         ///< part of its text (db::is_meant_by)
  std::optional<db::DeviceIdentity> exactly;  ///< the device whose text that is, if there is one in the database

  /// Sets `exactly`.
  void know(const std::vector<db::DeviceIdentity>& devices);

  /// Whether it is about all problems.
  bool is_all() const { return types.empty() && trans.empty() && shapes.empty() && kernels.empty(); }
  bool wants(const Task& task) const;
  bool wants(const db::DeviceIdentity& identity) const;
  /// Its problem, its config's family and its device.
  bool wants(const db::Record& entry) const;

  /// What the store can select of it by itself: of lists those of one member.
  db::RecordFilter filter() const;
  /// Whether filter() lets nothing else through.
  bool is_filter() const;
};

}  // namespace tilesmith::tuner
