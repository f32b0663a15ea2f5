#include "tuner/schedule/turn_board.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace tilesmith::tuner {
namespace {

constexpr std::uint64_t kMagic = 0x647261'6f62'6d7374;  // "tsmboard"

std::uint64_t fingerprint(const Workload& workload) {
  std::string all;
  for (const WeightedProblem& one : workload.problems) all += fmt::format("{} {}\n", text(one.problem), one.weight);
  return XXH3_64bits(all.data(), all.size());
}

}  // namespace

struct TurnBoard::Header {
  std::uint64_t magic = kMagic;
  std::uint64_t workload = 0;  // fingerprint
  std::uint64_t problems = 0;
  double ends = 0;
  std::atomic<int> tuners{1};
};

struct TurnBoard::Slot {
  std::atomic<Note> note{};
  std::atomic<double> deadline{0};
  // Of Rest: advice, so that nothing is lost if they are read while another tuner writes them.
  std::atomic<double> evaluations{0}, best_us{0}, last_doubling{0}, floor_us{0}, seconds_per_evaluation{0}, spare_seconds{0};
  static_assert(std::atomic<Note>::is_always_lock_free && std::atomic<double>::is_always_lock_free,
                "a lock would be of one process");
};

TurnBoard::TurnBoard(int fd, std::size_t problems) : fd_(fd), bytes_(sizeof(Header) + problems * sizeof(Slot)) {
  memory_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (memory_ == MAP_FAILED) {
    const int error = errno;
    ::close(fd_);
    throw std::system_error(error, std::generic_category(), "mapping the board of turns");
  }
}

TurnBoard::TurnBoard(const Workload& workload, double ends)
    : TurnBoard(
          [&] {
            const int fd = ::memfd_create("tilesmith-turns", MFD_CLOEXEC);
            const std::size_t bytes = sizeof(Header) + workload.problems.size() * sizeof(Slot);
            if (fd >= 0 && ::ftruncate(fd, off_t(bytes)) == 0) return fd;
            const int error = errno;
            if (fd >= 0) ::close(fd);
            throw std::system_error(error, std::generic_category(), "making the board of turns");
          }(),
          workload.problems.size()) {
  Header* header = new (memory_) Header;
  header->workload = fingerprint(workload);
  header->problems = workload.problems.size();
  header->ends = ends;
  for (std::size_t i = 0; i < header->problems; ++i) new (&slot(i)) Slot;
}

TurnBoard TurnBoard::inherited(int fd, const Workload& workload) {
  const auto no_board = [&] {
    return std::runtime_error(
        fmt::format("descriptor {} is no board of turns: expected one from a supervising tune", fd));
  };
  struct stat status {};
  const bool made_in_memory = ::fcntl(fd, F_GET_SEALS) >= 0;
  if (!made_in_memory || ::fstat(fd, &status) != 0 || std::size_t(status.st_size) < sizeof(Header)) throw no_board();
  const std::size_t slots = (std::size_t(status.st_size) - sizeof(Header)) / sizeof(Slot);
  TurnBoard board(fd, slots);
  const auto* header = static_cast<const Header*>(board.memory_);
  if (header->magic != kMagic || header->problems != slots) throw no_board();
  if (header->workload != fingerprint(workload)) {
    throw std::runtime_error(fmt::format("workload {} has changed since the run began: expected the same {} problems",
                                         workload.name, header->problems));
  }
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  return board;
}

TurnBoard::~TurnBoard() {
  if (memory_ != nullptr) ::munmap(memory_, bytes_);
  if (fd_ >= 0) ::close(fd_);
}

TurnBoard::TurnBoard(TurnBoard&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), bytes_(other.bytes_), memory_(std::exchange(other.memory_, nullptr)) {}

TurnBoard::Slot& TurnBoard::slot(std::size_t problem) const {
  return reinterpret_cast<Slot*>(static_cast<std::byte*>(memory_) + sizeof(Header))[problem];
}

std::size_t TurnBoard::size() const { return static_cast<const Header*>(memory_)->problems; }
double TurnBoard::ends() const { return static_cast<const Header*>(memory_)->ends; }
int TurnBoard::tuners() const { return std::max(1, static_cast<const Header*>(memory_)->tuners.load()); }
void TurnBoard::set_tuners(int count) { static_cast<Header*>(memory_)->tuners = count; }

TurnBoard::Note TurnBoard::note(std::size_t problem) const { return slot(problem).note; }
double TurnBoard::deadline(std::size_t problem) const { return slot(problem).deadline; }

void TurnBoard::foresee(std::size_t problem, int tuner) {
  Note open = note(problem);
  if (open.state == State::open)
    slot(problem).note.compare_exchange_strong(open, {State::foreseen, std::uint16_t(tuner), open.turns});
}

void TurnBoard::begin(std::size_t problem, int tuner, double deadline) {
  slot(problem).deadline = deadline;
  slot(problem).spare_seconds = 0;
  slot(problem).note = Note{State::begun, std::uint16_t(tuner), note(problem).turns};
}

void TurnBoard::finish(std::size_t problem, int tuner) {
  slot(problem).note = Note{State::done, std::uint16_t(tuner), note(problem).turns + 1};
}

void TurnBoard::rest(std::size_t problem, const Rest& rest) {
  Slot& at = slot(problem);
  at.evaluations = rest.trend.evaluations;
  at.best_us = rest.trend.best_us;
  at.last_doubling = rest.trend.last_doubling;
  at.floor_us = rest.trend.floor_us;
  at.seconds_per_evaluation = rest.seconds_per_evaluation;
  at.spare_seconds = rest.spare_seconds;
  at.note = Note{State::open, 0, note(problem).turns + 1};
}

TurnBoard::Rest TurnBoard::rest_of(std::size_t problem) const {
  const Slot& at = slot(problem);
  return {{at.evaluations, at.best_us, at.last_doubling, at.floor_us}, at.seconds_per_evaluation, at.spare_seconds};
}

void TurnBoard::release(std::size_t problem, int tuner) {
  Note now = note(problem);
  // Unless another tuner has taken it meanwhile.
  const bool its_own = (now.state == State::foreseen || now.state == State::begun) && now.tuner == tuner;
  if (its_own) slot(problem).note.compare_exchange_strong(now, {State::open, 0, now.turns});
}

void TurnBoard::release(int tuner) {
  for (std::size_t i = 0; i < size(); ++i) release(i, tuner);
}

std::size_t TurnBoard::count(State state) const {
  std::size_t found = 0;
  for (std::size_t i = 0; i < size(); ++i) found += note(i).state == state ? 1 : 0;
  return found;
}

std::size_t TurnBoard::had_turns() const {
  std::size_t found = 0;
  for (std::size_t i = 0; i < size(); ++i) found += note(i).turns > 0 ? 1 : 0;
  return found;
}

}  // namespace tilesmith::tuner
