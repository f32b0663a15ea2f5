// The compilations of an evaluator on a device: of what was submitted, of what is announced, and what becomes of those
// that wait.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tuner/workers/device_evaluator.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kMostAnnounced =
    12;  // more would mostly be compiled for nothing: the search goes by what these give

/// Within one evaluator a kernel is told apart by these: architecture, options and compiler are the same for all.
std::string kernel_text(const db::KernelKey& key) { return fmt::format("{} {}", key.config.text(), key.signature); }

}  // namespace

/// Of the kernel's one compilation: begun now, or under way or announced already.
std::size_t DeviceEvaluator::ticket_for(const db::KernelKey& key) {
  const auto [entry, is_new] = ticket_of_kernel_.try_emplace(kernel_text(key), next_ticket_);
  if (is_new) {
    compiling_.try_emplace(next_ticket_);
    pool_.submit({next_ticket_, key});
    ++next_ticket_;
  } else {
    pool_.promote(entry->second);
  }
  return entry->second;
}

void DeviceEvaluator::compile(Item item) {
  ++compiling_count_;
  compiling_[ticket_for(item.key)].push_back(std::move(item));
}

std::size_t DeviceEvaluator::most_announced() const { return kMostAnnounced; }

void DeviceEvaluator::announce(
    const Task& task, std::span<const Config> candidates, std::span<const Config> finalists) {
  std::set<std::size_t> kept = std::exchange(announced_, {});
  kept.merge(finalists_before_);
  for (const std::size_t ticket : pool_.drop_spare(kept)) {
    compiling_.erase(ticket);
    std::erase_if(ticket_of_kernel_, [&](const auto& entry) { return entry.second == ticket; });
  }
  finalists_before_ = std::exchange(announced_finalists_, {});
  for (const Config& config : candidates.first(std::min(candidates.size(), kMostAnnounced))) {
    if (const auto ticket = compile_spare(task, config)) announced_.insert(*ticket);
  }
  for (const Config& config : finalists.first(std::min(finalists.size(), kMostAnnounced))) {
    if (const auto ticket = compile_spare(task, config)) announced_finalists_.insert(*ticket);
  }
  announced_.insert(announced_finalists_.begin(), announced_finalists_.end());
}

/// The ticket of the kernel's compilation, unless it is in the store or need not be compiled to be refused.
std::optional<std::size_t> DeviceEvaluator::compile_spare(const Task& task, const Config& config) {
  db::KernelKey key;
  if (refused({task, config}, key) || store_.find_build(key)) return std::nullopt;
  const auto [entry, is_new] = ticket_of_kernel_.try_emplace(kernel_text(key), next_ticket_);
  if (is_new) {
    compiling_.try_emplace(next_ticket_);
    pool_.submit_spare({next_ticket_, key});
    ++next_ticket_;
  }
  return entry->second;
}

void DeviceEvaluator::on_built(const CompilePool::Done& done) {
  if (done.keep) store_.record_build(done.build);
  if (const auto wanted = wanted_.find(done.ticket); wanted != wanted_.end()) wanted->second = done;
  auto waiting = compiling_.extract(done.ticket);
  if (waiting.empty()) return;
  ticket_of_kernel_.erase(kernel_text(done.build.key));
  compiling_count_ -= waiting.mapped().size();
  for (Item& item : waiting.mapped()) take_build(std::move(item), done);
}

void DeviceEvaluator::take_build(Item item, const CompilePool::Done& done) {
  const db::KernelBuild& build = done.build;
  if (build.status != db::Status::ok) {
    finish(item, done.failure());
    return;
  }
  item.cubin = build.cubin;
  item.delayed_cubin = build.delayed_cubin;
  ready_.push_back(std::move(item));
}

}  // namespace tilesmith::tuner
