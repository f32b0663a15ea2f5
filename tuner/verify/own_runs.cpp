#include "tuner/verify/own_runs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tuner/verify/own_data.hpp"
#include "tuner/verify/suite_runner.hpp"

namespace tilesmith::tuner {
namespace {

constexpr unsigned char kNothing = 0, kNan = 0xff, kLarge = 0x5b;  // 0x5b5b5b5b is 6e16 in f32, 0x5b5b is 235 in f16

/// "wrote 4 bytes past the end of out (f32[4096][1000])"
std::optional<std::string> strayed(const Guarded& buffer, unsigned char poison) {
  std::vector<std::byte> guard(Guarded::kGuard);
  const auto differs = [&](std::byte byte) { return byte != std::byte{poison}; };
  buffer.memory.download(guard);
  if (const auto first = std::ranges::find_if(guard, differs); first != guard.end())
    return fmt::format("wrote {} bytes before the start of {}", guard.end() - first, buffer.text());
  buffer.memory.download(guard, Guarded::kGuard + buffer.bytes);
  const auto last = std::find_if(guard.rbegin(), guard.rend(), differs);
  if (last == guard.rend()) return std::nullopt;
  return fmt::format("wrote {} bytes past the end of {}", guard.rend() - last, buffer.text());
}

}  // namespace

Guarded::Guarded(const own::Argument& of, std::vector<std::int64_t> extents_of)
    : argument(&of), extents(std::move(extents_of)), bytes(of.type->bytes) {
  for (const std::int64_t extent : extents) bytes *= std::size_t(extent);
  memory = runtime::DeviceBuffer(bytes + 2 * kGuard);
}

std::vector<std::byte> Guarded::downloaded() const {
  std::vector<std::byte> contents(bytes);
  memory.download(contents, kGuard);
  return contents;
}

void Guarded::expect(const std::vector<std::byte>& results) {
  expected = runtime::DeviceBuffer(bytes);
  expected.upload(results);
}

std::vector<std::byte> Guarded::expected_bytes() const {
  std::vector<std::byte> result(expected.size());
  if (!result.empty()) expected.download(result);
  return result;
}

std::string Guarded::text() const {
  std::string text = fmt::format("{} ({}", argument->name, argument->type->name);
  for (const std::int64_t extent : extents) text += fmt::format("[{}]", extent);
  return text + ")";
}

OwnRuns::Poison OwnRuns::uniform(unsigned char byte) const {
  return {byte, std::vector<unsigned char>(state_.buffers.size(), byte)};
}

bool OwnRuns::are_right() {
  const std::size_t count = state_.buffers.size();
  checks_.reset(2 * count);
  for (const bool second : {false, true}) {
    const unsigned char poison = second ? kLarge : kNan;
    enqueue(uniform(poison));
    if (failed_) return false;
    for (std::size_t i = 0; i < count; ++i) {
      const Guarded& buffer = state_.buffers[i];
      checks_.count_other_bytes(stream_, buffer.memory.data(), Guarded::kGuard, poison);
      checks_.count_other_bytes(stream_, buffer.data() + buffer.bytes, Guarded::kGuard, poison);
      if (buffer.argument->role != own::Role::scratch)
        checks_.add_sum(stream_, buffer.data(), buffer.bytes, (second ? count : 0) + i);
      if (buffer.expected.size() > 0)
        checks_.count_wrong(stream_, *buffer.argument->type, *buffer.argument->tolerance, buffer.expected.data(),
            buffer.data(), buffer.bytes);
    }
    stream_.synchronize();  // the next run's poison does not wait for this stream
  }
  const OwnChecks::Found found = checks_.found(stream_);
  for (std::size_t i = 0; i < count; ++i) {
    const Guarded& buffer = state_.buffers[i];
    const bool is_read_only = is_input(buffer.argument->role);
    if (is_read_only && found.sums[count + i] != buffer.sum) return false;
    if (!is_read_only && kernel_.definition().deterministic && found.sums[i] != found.sums[count + i]) return false;
  }
  return found.count == 0;
}

std::optional<db::Outcome> OwnRuns::wrong(BufferContents& found) {
  inputs_changed();  // by what ran before
  found = run(uniform(kNan));
  if (auto changed = inputs_changed()) return changed;
  if (auto what = fault(found, uniform(kNan))) return what;
  const BufferContents again = run(uniform(kLarge));
  if (auto what = fault(again, uniform(kLarge))) return what;
  for (std::size_t i = 0; kernel_.definition().deterministic && i < found.size(); ++i) {
    const Guarded& buffer = state_.buffers[i];
    if (auto differ = two_runs_difference(*buffer.argument, buffer.extents, found[i], again[i]))
      return mismatch(read_outside() + *differ);
  }
  return std::nullopt;
}

db::Outcome OwnRuns::mismatch(const std::string& what) const {
  return {db::Status::mismatch, fmt::format("{}: {}", text(state_.sized), what), {}};
}

void OwnRuns::enqueue(const Poison& poison) {
  std::vector<void*> addresses;
  for (std::size_t i = 0; i < state_.buffers.size(); ++i) {
    Guarded& buffer = state_.buffers[i];
    const std::vector<std::byte> guard(Guarded::kGuard, std::byte{poison.guards[i]});
    if (!is_input(buffer.argument->role)) buffer.memory.fill(poison.buffers);
    if (buffer.argument->role == own::Role::inout) buffer.put_back();
    buffer.memory.upload(guard);
    buffer.memory.upload(guard, Guarded::kGuard + buffer.bytes);
    addresses.push_back(buffer.data());
  }
  context_.synchronize();
  failed_ = launch_outcome(plan_.run(addresses, stream_.get()), text(state_.sized));
}

BufferContents OwnRuns::run(const Poison& poison) {
  enqueue(poison);
  stream_.synchronize();
  BufferContents results(state_.buffers.size());
  for (std::size_t i = 0; !failed_ && i < results.size(); ++i) {
    if (is_result(state_.buffers[i].argument->role)) results[i] = state_.buffers[i].downloaded();
  }
  return results;
}

std::optional<db::Outcome> OwnRuns::fault(const BufferContents& found, const Poison& poison) {
  if (failed_) return failed_;
  for (std::size_t i = 0; i < state_.buffers.size(); ++i) {
    if (auto what = strayed(state_.buffers[i], poison.guards[i])) return mismatch(*what);
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Guarded& buffer = state_.buffers[i];
    const std::vector<std::byte> expected = buffer.expected_bytes();
    if (expected.empty()) continue;
    if (auto differ = own_difference(*buffer.argument, *buffer.argument->tolerance, buffer.extents, expected, found[i]))
      return mismatch(read_outside() + *differ);
  }
  return std::nullopt;
}

/// Finds out whether wrong results change with what stands around a buffer, and names that buffer. Empty if they change
/// with none, or from one run to the next.
std::string OwnRuns::read_outside() {
  const Poison none = uniform(kNothing);
  const BufferContents expected = run(none);
  if (run(none) != expected) return "";
  for (std::size_t i = 0; i < state_.buffers.size(); ++i) {
    for (const unsigned char byte : {kNan, kLarge}) {
      Poison one = none;
      one.guards[i] = byte;
      if (run(one) != expected) return fmt::format("reads outside {}: ", state_.buffers[i].text());
    }
  }
  return "";
}

/// Whether a run wrote to an input. What was changed is put back.
std::optional<db::Outcome> OwnRuns::inputs_changed() {
  std::optional<db::Outcome> wrong;
  for (Guarded& buffer : state_.buffers) {
    if (!is_input(buffer.argument->role) || buffer.downloaded() == buffer.before) continue;
    buffer.put_back();
    wrong = mismatch(fmt::format("wrote to {}, expected its role to be inout then", buffer.text()));
  }
  return wrong;
}

}  // namespace tilesmith::tuner
