// Best times over evaluations, small and large.
#include <fmt/format.h>

#include <algorithm>

#include "tuner/figures.hpp"
#include "tuner/report/charts.hpp"
#include "tuner/report/page.hpp"

namespace tilesmith::tuner::report {
namespace {

constexpr double kLeastTop = 1.25, kMostTop = 4;
constexpr double kSmallWidth = 200, kSmallHeight = 56;
constexpr double kWidth = 1100, kHeight = 290, kLeft = 64, kRight = 16, kTop = 14, kBottom = 40;
constexpr std::size_t kMostDots = 1500;
constexpr double kMostOfBest = 3;  // slower evaluations are above the frame

/// The reported part of the curve.
double best_after(const Convergence& convergence, std::size_t evaluation) {
  return convergence.best_us[convergence.before + evaluation - 1];
}

double first_best(const ProblemFigures& problem) {
  const Convergence& convergence = problem.convergence;
  double best = convergence.best_before_us();
  for (std::size_t k = 1; k <= convergence.reported() && !(best > 0); ++k) best = best_after(convergence, k);
  return best;
}

double last_best(const ProblemFigures& problem) { return problem.convergence.best_us.back(); }

/// A step line: level until the evaluation at which the best changes.
std::string steps(const Convergence& convergence, const svg::Scale& x, const svg::Scale& y, double unit) {
  std::string path;
  double level = convergence.best_before_us();
  if (level > 0) path = fmt::format("M{:.1f} {:.1f}", x.from, y.at(level / unit));
  for (std::size_t k = 1; k <= convergence.reported(); ++k) {
    const double best = best_after(convergence, k);
    if (best == level || !(best > 0)) continue;
    path += path.empty() ? fmt::format("M{:.1f} {:.1f}", x.at(double(k)), y.at(best / unit))
                         : fmt::format("H{:.1f}V{:.1f}", x.at(double(k)), y.at(best / unit));
    level = best;
  }
  return path.empty() ? path : path + fmt::format("H{:.1f}", x.to);
}

std::string story_of(const ProblemFigures& problem) {
  if (!problem.best) return fmt::format("{}: no candidate of {} passed", name_of(problem.problem), problem.tried);
  return fmt::format("{}: from {} to {} µs in {}", name_of(problem.problem), format_us(first_best(problem)),
      format_us(last_best(problem)), count_of(problem.evaluations, "evaluation"));
}

struct Frame {
  svg::Scale x, y;
};

Frame frame_of(const ProblemFigures& problem) {
  const double best = last_best(problem);
  double low = best, high = std::max(first_best(problem), 1.02 * best);
  for (std::size_t k = 1; k <= problem.convergence.reported(); ++k) {
    const double known = best_after(problem.convergence, k);
    if (!(known > 0)) continue;
    low = std::min(low, known);
    high = std::max(high, known);
  }
  high = std::min(std::max(high, 1.5 * best), kMostOfBest * best);
  const double margin = 0.06 * (high - low);
  return {{1, std::max(2.0, double(problem.convergence.reported())), kLeft, kWidth - kRight, true},
      {std::max(0.0, low - margin), high + margin, kHeight - kBottom, kTop}};
}

std::string axes(const Frame& frame) {
  return grid_of_y(frame.y, svg::round_ticks(frame.y.low, frame.y.high, 5), kLeft, kWidth - kRight) +
         grid_of_x(frame.x, svg::decade_ticks(frame.x.high), kTop, kHeight - kBottom) +
         fmt::format(R"(<text x="{}" y="{}" class="mid">evaluations</text><text x="{}" y="{}">µs</text>)",
             (kLeft + kWidth - kRight) / 2, kHeight - 6, 8, kTop + 4);
}

/// Each evaluation's time; of very many, evenly spaced ones.
std::string dots(const Convergence& convergence, const Frame& frame) {
  std::string passed, failed;
  const std::size_t every = convergence.reported() / kMostDots + 1;
  for (std::size_t k = 1; k <= convergence.reported(); k += every) {
    const double us = convergence.times_us[convergence.before + k - 1];
    const double x = frame.x.at(double(k));
    if (!(us > 0)) failed += fmt::format("M{:.0f} {:.0f}v5", x, kHeight - kBottom);
    else if (us <= frame.y.high) passed += fmt::format("M{:.0f} {:.0f}h0", x, frame.y.at(us));
  }
  return fmt::format(R"(<path class="dots" d="{}"/><path class="ticks" d="{}"/>)", passed, failed);
}

}  // namespace

double common_top(const std::vector<ProblemFigures>& problems) {
  std::vector<double> ratios;
  for (const ProblemFigures& problem : problems) {
    if (last_best(problem) > 0) ratios.push_back(first_best(problem) / last_best(problem));
  }
  if (ratios.empty()) return kLeastTop;
  std::sort(ratios.begin(), ratios.end());
  return std::clamp(ratios[(ratios.size() - 1) * 9 / 10], kLeastTop, kMostTop);
}

std::string small_convergence(const ProblemFigures& problem, double top) {
  std::string text =
      fmt::format(R"(<svg class="small" viewBox="0 0 {0} {1}" preserveAspectRatio="none" role="img"><title>{2}</title>)"
                  R"(<path class="grid" d="M0 {3}H{0}"/>)",
          kSmallWidth, kSmallHeight, svg::escaped(story_of(problem)), kSmallHeight - 5);
  if (problem.best) {
    const svg::Scale x{1, std::max(2.0, double(problem.convergence.reported())), 0, kSmallWidth, true};
    const svg::Scale y{1, top, kSmallHeight - 5, 4, true};
    text += fmt::format(R"(<path class="line" d="{}"/>)", steps(problem.convergence, x, y, last_best(problem)));
  } else {
    text += fmt::format(R"(<text x="{}" y="{}" class="mid">no time</text>)", kSmallWidth / 2, kSmallHeight / 2);
  }
  return text + "</svg>";
}

std::string large_convergence(const ProblemFigures& problem) {
  if (!problem.best) return {};
  const Convergence& convergence = problem.convergence;
  const Frame frame = frame_of(problem);
  std::string text = fmt::format(R"(<svg class="large" viewBox="0 0 {} {}" role="img"><title>{}</title>)", kWidth,
      kHeight, svg::escaped(story_of(problem)));
  // The last doubling counts what was known before: the part of it that lies in this chart is shaded.
  const double half = double(convergence.best_us.size()) / 2 - double(convergence.before);
  const double from = frame.x.at(std::max(1.0, half));
  if (convergence.best_us.size() >= kLeastEvaluations) {
    text += fmt::format(R"(<rect class="shade" x="{:.1f}" y="{}" width="{:.1f}" height="{}"/>)", from, kTop,
        frame.x.to - from, kHeight - kTop - kBottom);
  }
  text += axes(frame) + dots(convergence, frame);
  if (const double before = convergence.best_before_us(); before > 0 && before <= frame.y.high) {
    text +=
        fmt::format(R"(<path class="base" d="M{:.1f} {:.1f}H{:.1f}"/>)", frame.x.from, frame.y.at(before), frame.x.to);
  }
  return text + fmt::format(R"(<path class="line" d="{}"/></svg>)", steps(convergence, frame.x, frame.y, 1));
}

}  // namespace tilesmith::tuner::report
