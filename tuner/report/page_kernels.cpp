// The page's table of kernels of one's own.
#include <fmt/format.h>

#include "tuner/figures.hpp"
#include "tuner/report/page.hpp"
#include "tuner/report/page_text.hpp"

namespace tilesmith::tuner::report {

std::string kernels_section(const Report& report) {
  const std::vector<db::JudgedBest>& kernels = report.options.kernels;
  if (kernels.empty()) return {};
  const std::string head = header("kernel") + header("µs", true, "median of the best config") + header("rate", true) +
                           header("right", true, "of the candidates tried") + header("trust") + header("config");
  std::string rows;
  for (const db::JudgedBest& best : kernels) {
    const double us = best.record.outcome.timing ? best.record.outcome.timing->median_us : 0;
    const Rate rate = rate_of(best.record.task, best.record.device, us, 0);
    rows += "<tr>" + text_cell(text(best.record.task).substr(std::string_view("kernel ").size())) +
            number_cell(format_us(us), us) + number_cell(rate.value > 0 ? rate.text() : "-", rate.value) +
            number_cell(fmt::format("{}/{}", best.ok, best.candidates), double(best.ok)) + text_cell(best.trust) +
            text_cell(best.record.config.text(), "code") + "</tr>\n";
  }
  return "<p>The best config of each of the sizes that were tuned, on each device of the database.</p>\n" +
         scrolling_table(head, rows, "Kernels of your own and their best configs", R"(class="sortable")");
}

}  // namespace tilesmith::tuner::report
