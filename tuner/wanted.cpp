#include "tuner/wanted.hpp"

#include <algorithm>

namespace tilesmith::tuner {
namespace {

template <typename List, typename Is>
bool among(const List& list, Is&& is) {
  return list.empty() || std::any_of(list.begin(), list.end(), is);
}

}  // namespace

bool Wanted::wants(const Task& task) const {
  if (!task.is_gemm()) return std::ranges::find(kernels, task.kernel().kernel) != kernels.end();
  if (!kernels.empty()) return false;
  const Problem& problem = task.problem();
  return among(types, [&](const TypePair& type) { return type == problem.type; }) &&
         among(trans, [&](Transposes t) { return t == problem.trans; }) && among(shapes, [&](const Shape& s) {
           const bool is_batch = problem.batch_mode != BatchMode::single && s.batch == problem.batch;
           return s.m == problem.m && s.n == problem.n && s.k == problem.k && (s.batch == 0 || is_batch);
         });
}

void Wanted::know(const std::vector<db::DeviceIdentity>& devices) {
  for (const db::DeviceIdentity& one : devices) {
    if (!device.empty() && db::is_text_of(one, device)) exactly = one;
  }
}

bool Wanted::wants(const db::DeviceIdentity& identity) const {
  if (exactly) return identity == *exactly;
  return device.empty() || db::is_meant_by(identity, device);
}

bool Wanted::wants(const db::Record& entry) const {
  return wants(entry.task) && wants(entry.device) &&
         among(families, [&](const std::string& family) { return family == entry.config.family(); });
}

db::RecordFilter Wanted::filter() const {
  db::RecordFilter filter;
  if (types.size() == 1) filter.type = std::string(types.front().name);
  if (trans.size() == 1) filter.trans = trans.front();
  if (families.size() == 1) filter.family = families.front();
  if (kernels.size() == 1) filter.family = kernels.front();
  if (shapes.size() == 1) {
    filter.m = shapes.front().m;
    filter.n = shapes.front().n;
    filter.k = shapes.front().k;
  }
  if (exactly) filter.device_exactly = exactly;
  else if (!device.empty()) filter.device = device;
  return filter;
}

bool Wanted::is_filter() const {
  return types.size() <= 1 && trans.size() <= 1 && families.size() <= 1 && shapes.size() <= 1 && kernels.size() <= 1 &&
         (shapes.empty() || shapes.front().batch == 0);
}

}  // namespace tilesmith::tuner
