// Readings over the night.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tuner/report/charts.hpp"

namespace tilesmith::tuner::report {
namespace {

constexpr double kWidth = 1100, kHeight = 132, kLeft = 56, kRight = 16, kTop = 8, kBottom = 24;
constexpr double kGap = 18;         // px, what is left of a pause
constexpr double kBin = 2;          // px
constexpr double kSilence = 120;    // s: a longer one breaks the line
constexpr double kLabelEvery = 90;  // px, at least

/// Stretches of work side by side, each as wide as its share of the time.
class TimeAxis {
 public:
  explicit TimeAxis(const std::vector<Stretch>& stretches) {
    for (const Stretch& one : stretches) {
      if (pieces_.empty() || one.began - pieces_.back().ended > kLongestPause) pieces_.push_back({one.began, 0, 0, 0});
      pieces_.back().ended = one.ended;
    }
    double sum = 0;
    for (Piece& piece : pieces_) sum += std::max(1.0, piece.ended - piece.began);
    const double room = kWidth - kLeft - kRight - kGap * double(pieces_.size() - 1);
    double x = kLeft;
    for (Piece& piece : pieces_) {
      piece.from = x;
      x += std::max(1.0, room) * std::max(1.0, piece.ended - piece.began) / sum;
      piece.to = x;
      x += kGap;
    }
  }

  struct Piece {
    double began, ended, from, to;
    double at(double time) const {
      return ended > began ? from + (to - from) * std::clamp((time - began) / (ended - began), 0.0, 1.0) : from;
    }
  };
  const std::vector<Piece>& pieces() const { return pieces_; }

  /// The piece that a moment lies in, or the nearest before it.
  std::size_t piece_of(double time) const {
    std::size_t found = 0;
    while (found + 1 < pieces_.size() && pieces_[found + 1].began <= time) ++found;
    return found;
  }

 private:
  std::vector<Piece> pieces_;
};

double label_step(double seconds_per_label) {
  for (const double step : {60., 120., 300., 600., 900., 1800., 3600., 7200., 10800., 21600., 43200.}) {
    if (step >= seconds_per_label) return step;
  }
  return 86400 * std::ceil(seconds_per_label / 86400);
}

std::string time_labels(const TimeAxis& axis) {
  std::string text;
  double free_from = 0;  // px
  std::string day;       // of the label before
  for (const TimeAxis::Piece& piece : axis.pieces()) {
    if (piece.from > kLeft) {
      text += fmt::format(R"(<path class="cut" d="M{:.1f} {}V{}"/>)", piece.from - kGap / 2, kTop, kHeight - kBottom);
    }
    const double seconds = std::max(1.0, piece.ended - piece.began);
    const double step = label_step(seconds * kLabelEvery / std::max(1.0, piece.to - piece.from));
    std::vector<double> moments;
    for (double t = std::ceil(piece.began / step) * step; t <= piece.ended; t += step) moments.push_back(t);
    if (moments.empty()) moments.push_back(piece.began);
    for (const double t : moments) {
      const double x = piece.at(t);
      text += fmt::format(R"(<path class="grid" d="M{:.1f} {}V{}"/>)", x, kTop, kHeight - kBottom);
      if (x < free_from || x > kWidth - kRight - 14) continue;
      const std::string when = utc_minutes(t);  // 2026-01-31 23:59
      const bool new_day = !day.empty() && when.substr(0, 10) != day;
      text += fmt::format(
          R"(<text x="{:.1f}" y="{}" class="mid">{}</text>)", x, kHeight - 6, when.substr(new_day ? 5 : 11));
      day = when.substr(0, 10);
      free_from = x + (new_day ? 64 : 44);
    }
  }
  return text;
}

/// The readings of a few pixels' width of one piece.
struct Bin {
  double last = 0;           // the latest reading's time
  bool begins_line = false;  // after a pause, or a silence
  double x = 0, low = 0, high = 0;
  std::vector<double> values;
  double median() {
    std::nth_element(values.begin(), values.begin() + std::ptrdiff_t(values.size() / 2), values.end());
    return values[values.size() / 2];
  }
};

std::vector<Bin> bins_of(const Series& series, const TimeAxis& axis) {
  std::vector<Bin> bins;
  for (const Reading& reading : series.readings) {
    const std::size_t piece = axis.piece_of(reading.time);
    const double x = kBin * std::round(axis.pieces()[piece].at(reading.time) / kBin);
    const bool begins_line = bins.empty() || reading.time - bins.back().last > kSilence;
    if (begins_line || x > bins.back().x)
      bins.push_back({reading.time, begins_line, x, reading.value, reading.value, {}});
    Bin& bin = bins.back();
    bin.last = reading.time;
    bin.low = std::min(bin.low, reading.value);
    bin.high = std::max(bin.high, reading.value);
    bin.values.push_back(reading.value);
  }
  return bins;
}

svg::Scale scale_of(const Series& series) {
  double low = series.lowest(), high = series.highest();
  const double least = std::max(1.0, 0.05 * std::abs(high));  // a steady reading is not to look wild
  if (high - low < least) {
    const double middle = (low + high) / 2;
    low = middle - least / 2;
    high = middle + least / 2;
  }
  const double margin = 0.08 * (high - low);
  return {low - margin, high + margin, kHeight - kBottom, kTop};
}

/// Line after line: the band of what was read, and its median.
std::string lines(std::vector<Bin>& bins, const svg::Scale& y) {
  std::string text;
  for (std::size_t first = 0; first < bins.size();) {
    std::size_t end = first;
    svg::Points band, median;
    for (; end < bins.size() && (end == first || !bins[end].begins_line); ++end) {
      band.emplace_back(bins[end].x, y.at(bins[end].high));
      median.emplace_back(bins[end].x, y.at(bins[end].median()));
    }
    for (std::size_t i = end; i > first; --i) band.emplace_back(bins[i - 1].x, y.at(bins[i - 1].low));
    if (end - first == 1) median.emplace_back(median.front().first + 1, median.front().second);
    text += fmt::format(R"(<polygon class="band" points="{}"/><polyline class="line" points="{}"/>)",
        svg::points_text(band), svg::points_text(median));
    first = end;
  }
  return text;
}

std::string marks(const Series& series, const TimeAxis& axis, const svg::Scale& y) {
  std::string path;
  double last = -1;
  for (const Reading& reading : series.readings) {
    if (!reading.marked) continue;
    const double x = axis.pieces()[axis.piece_of(reading.time)].at(reading.time);
    if (std::abs(x - last) < kBin) continue;
    path += fmt::format("M{:.0f} {:.0f}h0", x, y.at(reading.value));
    last = x;
  }
  return path.empty() ? path : fmt::format(R"(<path class="marks" d="{}"/>)", path);
}

}  // namespace

std::string time_series(const Series& series, const std::vector<Stretch>& stretches) {
  if (series.readings.empty() || stretches.empty()) return {};
  const TimeAxis axis(stretches);
  const svg::Scale y = scale_of(series);
  std::string text =
      fmt::format(R"(<svg class="series" viewBox="0 0 {} {}" role="img"><title>{}</title>)", kWidth, kHeight,
          svg::escaped(
              fmt::format("{}: {:.4g} to {:.4g} {}", series.name, series.lowest(), series.highest(), series.unit)));
  text += grid_of_y(y, svg::round_ticks(y.low, y.high, 4), kLeft, kWidth - kRight);
  std::vector<Bin> bins = bins_of(series, axis);
  return text + time_labels(axis) + lines(bins, y) + marks(series, axis, y) + "</svg>";
}

}  // namespace tilesmith::tuner::report
