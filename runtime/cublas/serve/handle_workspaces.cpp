#include "runtime/cublas/serve/serve.hpp"

#include <atomic>
#include <cstdint>

namespace tilesmith::cublas {
namespace {

struct HandleSlot {
  std::atomic<Handle> handle{nullptr};
  std::atomic<void*> memory{nullptr};
  std::atomic<std::size_t> bytes{0};
};
constexpr std::size_t kHandleSlots = 512;
HandleSlot handle_slots[kHandleSlots];

/// A handle keeps its slot for ever: where it is destroyed, its workspace is taken away.
HandleSlot* slot_of(Handle handle, bool may_add) noexcept {
  std::size_t at = (reinterpret_cast<std::uintptr_t>(handle) * 0x9E3779B97F4A7C15u >> 40) % kHandleSlots;
  for (std::size_t tried = 0; tried < kHandleSlots; ++tried, at = (at + 1) % kHandleSlots) {
    Handle known = handle_slots[at].handle.load(std::memory_order_acquire);
    if (known == nullptr && may_add && handle_slots[at].handle.compare_exchange_strong(known, handle))
      return &handle_slots[at];
    if (known == handle) return &handle_slots[at];
    if (known == nullptr) return nullptr;
  }
  return nullptr;
}

}  // namespace

void note_workspace(Handle handle, Workspace workspace) noexcept {
  HandleSlot* const slot = slot_of(handle, workspace.memory != nullptr);
  if (slot == nullptr) return;
  slot->bytes.store(workspace.bytes, std::memory_order_relaxed);
  slot->memory.store(workspace.memory, std::memory_order_relaxed);
}

Workspace workspace_of(Handle handle) noexcept {
  const HandleSlot* const slot = slot_of(handle, false);
  if (slot == nullptr) return {};
  return {slot->memory.load(std::memory_order_relaxed), slot->bytes.load(std::memory_order_relaxed)};
}

}  // namespace tilesmith::cublas
