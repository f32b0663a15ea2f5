#include "tuner/schedule/slice_board.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace tilesmith::tuner {
namespace {

constexpr std::uint64_t kMagic = 0x647261'6f62'6d7374;  // "tsmboard"

std::uint64_t fingerprint(const Workload& workload) {
  std::string all;
  for (const WeightedTask& one : workload.tasks) all += fmt::format("{} {}\n", text(one.task), one.weight);
  return XXH3_64bits(all.data(), all.size());
}

}  // namespace

struct SliceBoard::Header {
  std::uint64_t magic = kMagic;
  std::uint64_t workload = 0;  // fingerprint
  std::uint64_t tasks = 0;
  double ends = 0;
  std::atomic<int> tuners{1};
};

struct SliceBoard::Slot {
  std::atomic<Note> note{};
  std::atomic<double> deadline{0};
  // Of Rest: advice, so that nothing is lost if they are read while another tuner writes them.
  std::atomic<double> evaluations{0}, best_us{0}, last_doubling{0}, floor_us{0}, seconds_per_evaluation{0},
      spare_seconds{0};
  static_assert(std::atomic<Note>::is_always_lock_free && std::atomic<double>::is_always_lock_free,
      "a lock would be of one process");
};

SliceBoard::SliceBoard(int fd, std::size_t tasks) : fd_(fd), bytes_(sizeof(Header) + tasks * sizeof(Slot)) {
  memory_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (memory_ == MAP_FAILED) {
    const int error = errno;
    ::close(fd_);
    throw std::system_error(error, std::generic_category(), "mapping the board of slices");
  }
}

SliceBoard::SliceBoard(const Workload& workload, double ends)
    : SliceBoard(
          [&] {
            const int fd = ::memfd_create("tilesmith-slices", MFD_CLOEXEC);
            const std::size_t bytes = sizeof(Header) + workload.tasks.size() * sizeof(Slot);
            if (fd >= 0 && ::ftruncate(fd, off_t(bytes)) == 0) return fd;
            const int error = errno;
            if (fd >= 0) ::close(fd);
            throw std::system_error(error, std::generic_category(), "making the board of slices");
          }(),
          workload.tasks.size()) {
  Header* header = new (memory_) Header;
  header->workload = fingerprint(workload);
  header->tasks = workload.tasks.size();
  header->ends = ends;
  for (std::size_t i = 0; i < header->tasks; ++i) new (&slot(i)) Slot;
}

SliceBoard SliceBoard::inherited(int fd, const Workload& workload) {
  const auto no_board = [&] {
    return std::runtime_error(
        fmt::format("descriptor {} is no board of slices: expected one from a supervising tune", fd));
  };
  struct stat status {};
  const bool made_in_memory = ::fcntl(fd, F_GET_SEALS) >= 0;
  if (!made_in_memory || ::fstat(fd, &status) != 0 || std::size_t(status.st_size) < sizeof(Header)) throw no_board();
  const std::size_t slots = (std::size_t(status.st_size) - sizeof(Header)) / sizeof(Slot);
  SliceBoard board(fd, slots);
  const auto* header = static_cast<const Header*>(board.memory_);
  if (header->magic != kMagic || header->tasks != slots) throw no_board();
  if (header->workload != fingerprint(workload)) {
    throw std::runtime_error(fmt::format(
        "workload {} has changed since the run began: expected the same {} tasks", workload.name, header->tasks));
  }
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  return board;
}

SliceBoard::~SliceBoard() {
  if (memory_ != nullptr) ::munmap(memory_, bytes_);
  if (fd_ >= 0) ::close(fd_);
}

SliceBoard::SliceBoard(SliceBoard&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), bytes_(other.bytes_), memory_(std::exchange(other.memory_, nullptr)) {}

SliceBoard::Slot& SliceBoard::slot(std::size_t task) const {
  return reinterpret_cast<Slot*>(static_cast<std::byte*>(memory_) + sizeof(Header))[task];
}

std::size_t SliceBoard::size() const { return static_cast<const Header*>(memory_)->tasks; }
double SliceBoard::ends() const { return static_cast<const Header*>(memory_)->ends; }
int SliceBoard::tuners() const { return std::max(1, static_cast<const Header*>(memory_)->tuners.load()); }
void SliceBoard::set_tuners(int count) { static_cast<Header*>(memory_)->tuners = count; }

SliceBoard::Note SliceBoard::note(std::size_t task) const { return slot(task).note; }
double SliceBoard::deadline(std::size_t task) const { return slot(task).deadline; }

void SliceBoard::announce(std::size_t task, int tuner) {
  Note open = note(task);
  if (open.state == State::open)
    slot(task).note.compare_exchange_strong(open, {State::announced, std::uint16_t(tuner), open.slices});
}

void SliceBoard::begin(std::size_t task, int tuner, double deadline) {
  slot(task).deadline = deadline;
  slot(task).spare_seconds = 0;
  slot(task).note = Note{State::begun, std::uint16_t(tuner), note(task).slices};
}

void SliceBoard::finish(std::size_t task, int tuner) {
  slot(task).note = Note{State::done, std::uint16_t(tuner), note(task).slices + 1};
}

void SliceBoard::rest(std::size_t task, const Rest& rest) {
  Slot& at = slot(task);
  at.evaluations = rest.trend.evaluations;
  at.best_us = rest.trend.best_us;
  at.last_doubling = rest.trend.last_doubling;
  at.floor_us = rest.trend.floor_us;
  at.seconds_per_evaluation = rest.seconds_per_evaluation;
  at.spare_seconds = rest.spare_seconds;
  at.note = Note{State::open, 0, note(task).slices + 1};
}

SliceBoard::Rest SliceBoard::rest_of(std::size_t task) const {
  const Slot& at = slot(task);
  return {{at.evaluations, at.best_us, at.last_doubling, at.floor_us}, at.seconds_per_evaluation, at.spare_seconds};
}

void SliceBoard::release(std::size_t task, int tuner) {
  Note now = note(task);
  // Unless another tuner has taken it meanwhile.
  const bool its_own = (now.state == State::announced || now.state == State::begun) && now.tuner == tuner;
  if (its_own) slot(task).note.compare_exchange_strong(now, {State::open, 0, now.slices});
}

void SliceBoard::release(int tuner) {
  for (std::size_t i = 0; i < size(); ++i) release(i, tuner);
}

std::size_t SliceBoard::count(State state) const {
  std::size_t found = 0;
  for (std::size_t i = 0; i < size(); ++i) found += note(i).state == state ? 1 : 0;
  return found;
}

std::size_t SliceBoard::had_slices() const {
  std::size_t found = 0;
  for (std::size_t i = 0; i < size(); ++i) found += note(i).slices > 0 ? 1 : 0;
  return found;
}

}  // namespace tilesmith::tuner
