#include "tuner/report/page.hpp"

#include <fmt/format.h>

namespace tilesmith::tuner::report {
namespace {

struct Part {
  std::string_view id, title;
  std::string (*text)(const Report&);
};
constexpr Part kParts[] = {
    {"problems", "Problems", problems_section},
    {"kernels", "Kernels", kernels_section},
    {"compared", "Compared", compared_section},
    {"roofline", "Roofline", roofline_section},
    {"convergence", "Convergence", convergence_section},
    {"device", "Device", device_section},
    {"failures", "Failures", failures_section},
    {"outlook", "Another hour", outlook_section},
};

std::string title_of(const Report& report) {
  return fmt::format("Tuning report{}{}", report.devices.empty() ? "" : ": " + report.devices.front().name,
      report.options.made_at.empty() ? "" : ", " + report.options.made_at.substr(0, 10));
}

std::string footer(const Report& report) {
  return fmt::format(
      "<footer><p>Made {} from <code>{}</code>{}. Times are medians in microseconds of cold operands; clock times are "
      "UTC. The page loads nothing from anywhere.</p></footer>\n",
      escaped(report.options.made_at), escaped(report.options.database),
      report.options.bench_name.empty() ? "" : fmt::format(" and <code>{}</code>", escaped(report.options.bench_name)));
}

}  // namespace

std::string page_of(const Report& report) {
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'\">\n<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n",
      escaped(title_of(report)), kPageStyle);
  std::string links, sections;
  for (const Part& part : kParts) {
    const std::string text = part.text(report);
    if (text.empty()) continue;  // it is left out
    links += fmt::format(R"(<a href="#{}">{}</a>)", part.id, part.title);
    sections += fmt::format(
        "<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">{1}</h2>\n{2}</section>\n", part.id,
        part.title, text);
  }
  page += fmt::format(
      "<header><p class=\"brand\">Tilesmith</p><nav aria-label=\"Sections\">{}</nav>\n</header>\n<main>\n", links);
  return page + head_section(report) + sections + "</main>\n" + footer(report) +
         fmt::format("<script>\n{}</script>\n</body>\n</html>\n", kPageScript);
}

}  // namespace tilesmith::tuner::report
