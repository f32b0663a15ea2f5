// The report's page in a real browser, headless: opened, its script run, photographed. Where there is no browser the test
// says so in one line, and CTest shows it as skipped.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tests/catch.hpp"
#include "tests/tuner/report/made_night.hpp"
#include "tests/tuner/report/png.hpp"
#include "tests/tuner/run_binary.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;

namespace {

/// Empty if there is none. $TILESMITH_BROWSER names another of Chromium's kin.
std::string browser() {
  const char* given = std::getenv("TILESMITH_BROWSER");
  for (const std::string& name : {std::string(given ? given : ""), std::string("chromium"),
                                  std::string("chromium-browser"), std::string("google-chrome")}) {
    // Where the distribution only has a stub for the package, it cannot tell its version.
    if (!name.empty() && std::system(("timeout 20 " + name + " --version >/dev/null 2>&1").c_str()) == 0) return name;
  }
  return {};
}

constexpr const char* kNoBrowser =
    "skipped, there is no browser: expected chromium, chromium-browser or google-chrome, or one named by "
    "TILESMITH_BROWSER";

class Browser {
 public:
  Browser(const TempFolder& folder, std::string program) : folder_(folder), program_(std::move(program)) {}

  /// The page's DOM after its script.
  std::string dom(const std::string& page) const {
    call(page, "--dump-dom");
    return read_file(folder_ / "dom.html");
  }
  Picture photograph(const std::string& page, int width, int height, bool dark = false) const {
    call(page, fmt::format("--window-size={},{} --screenshot='{}'{}", width, height, folder_ / "picture.png",
                           dark ? " --blink-settings=preferredColorScheme=0" : ""));
    return read_png(read_file(folder_ / "picture.png"));
  }

 private:
  void call(const std::string& page, const std::string& options) const {
    const std::string command = fmt::format(
        "HOME='{0}' timeout 120 {1} --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars "
        "--user-data-dir='{0}/profile' {2} 'file://{0}/{3}' >'{0}/dom.html' 2>'{0}/log.txt'",
        folder_.path().string(), program_, options, page);
    INFO(command);
    const int status = std::system(command.c_str());
    INFO(read_file(folder_ / "log.txt"));
    REQUIRE(status == 0);
  }

  const TempFolder& folder_;
  std::string program_;
};

/// Thirteen problems, the slowest in the middle, with a message that would run if it could.
void make_report(const TempFolder& folder) {
  MadeNight night;
  night.recorded(kNight, 0, 3000, "done");
  for (int i = 0; i < 13; ++i) {
    night.problem = packed_problem({*find_type_pair(i < 6 ? "f16f32" : "s8s32"), {}}, 64 * (i + 1), 1024, 1024);
    for (int x = 0; x < 20; ++x) night.passed(x, (i == 5 ? 900 : 100) + 30.0 / (x + 1));
    night.failed(99, db::Status::mismatch,
                 "<script>document.title = 'owned'</script><img src=x onerror=\"document.title='owned'\">");
    night.second += 40;
  }
  night.store_to(folder / "tuned.db");
  REQUIRE(run(folder, {"report", "--db", "tuned.db", "--out", "report.html"}).status == 0);
}

/// Pixels of this colour, or as good as.
std::size_t pixels_of(const Picture& picture, std::uint32_t colour) {
  const auto near = [&](std::uint32_t pixel) {
    int off = 0;
    for (const unsigned shift : {0U, 8U, 16U}) off += std::abs(int((pixel >> shift) & 0xFFU) - int((colour >> shift) & 0xFFU));
    return off < 24;
  };
  return std::size_t(std::count_if(picture.pixels.begin(), picture.pixels.end(), near));
}

/// The page with the section of this id alone.
std::string only_section(const std::string& page, const std::string& id) {
  return page + "<script>for (const e of document.querySelectorAll('header, footer, main > section')) if (e.id !== '" + id + "') e.remove();</script>";
}

/// Adds to the page what a script finds of its roofline: dots, those whose row is there, those within the chart, and whether a click leads to the row.
constexpr const char* kLookAtRoofline = R"(<script>
  const chart = document.querySelector('#roofline svg.scatter'), box = chart.getBoundingClientRect();
  const links = Array.from(chart.querySelectorAll('a')), problems = document.getElementById('problem-table');
  const row = (link) => document.getElementById(link.getAttribute('href').slice(1));
  const within = (e) => { const b = e.getBoundingClientRect(); return b.left >= box.left && b.right <= box.right && b.top >= box.top && b.bottom <= box.bottom; };
  const found = document.documentElement.dataset;
  found.dots = links.length;
  found.led = links.filter((link) => row(link) && problems.contains(row(link))).length;
  found.within = links.filter((link) => within(link.querySelector('circle'))).length;
  found.roofs = Array.from(chart.querySelectorAll('.roof')).filter(within).length;
  links[5].dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}));
  found.at = location.hash;
</script>)";

/// The text of the first row of the table of problems.
std::string first_row(const std::string& dom) {
  const std::size_t body = dom.find("<tbody>", dom.find("id=\"problem-table\""));
  return dom.substr(body, dom.find("</tr>", body) - body);
}

}  // namespace

TEST_CASE("a browser runs the report's script and photographs its page") {
  const std::string program = browser();
  if (program.empty()) {
    std::printf("%s\n", kNoBrowser);
    return;
  }
  const TempFolder folder;
  make_report(folder);
  const Browser browser(folder, program);

  const std::string dom = browser.dom("report.html");
  CHECK(contains(dom, "data-script=\"ran\""));
  CHECK(contains(dom, "data-rows=\"13\""));
  CHECK(contains(dom, "type=\"search\""));
  CHECK_FALSE(contains(dom, "<title>owned"));
  CHECK(contains(first_row(dom), "1024"));

  // A click on the header of the times sorts by them, the slowest first.
  const std::string page = read_file(folder / "report.html");
  write_file(folder / "clicked.html",
             page +
                 "<script>for (const b of document.querySelectorAll('#problem-table th button')) "
                 "if (b.textContent === 'µs') b.click();</script>");
  const std::string clicked = browser.dom("clicked.html");
  CHECK(contains(clicked, "aria-sort=\"descending\""));
  CHECK(contains(first_row(clicked), "901.5"));
  CHECK_FALSE(contains(first_row(dom), "901.5"));

  // Every dot of the roofline lies within the chart and leads to its row.
  write_file(folder / "roofline.html", page + kLookAtRoofline);
  const std::string looked = browser.dom("roofline.html");
  for (const char* part : {"data-dots=\"13\"", "data-led=\"13\"", "data-within=\"13\"", "data-roofs=\"3\"", "data-at=\"#r5\""}) {
    INFO(part);
    CHECK(contains(looked, part));
  }
  write_file(folder / "roofline_alone.html", only_section(page, "roofline"));
  const Picture chart = browser.photograph("roofline_alone.html", 1400, 700);
  CHECK(pixels_of(chart, 0x8A5200) > 500);   // the roofs
  CHECK(pixels_of(chart, 0x719BC6) > 13 * 20);  // dots: the accent at two thirds

  for (const int width : {1400, 420}) {
    const Picture picture = browser.photograph("report.html", width, 1600);
    INFO(width);
    CHECK(picture.width == std::size_t(width));
    CHECK(picture.height == 1600);
    CHECK(picture.colours() > 50);
    CHECK(picture.drawn() > 0.03);
    CHECK(picture.drawn() < 0.6);
  }
  const Picture light = browser.photograph("report.html", 1400, 800),
                dark = browser.photograph("report.html", 1400, 800, true);
  CHECK(light.pixels.front() == 0xFFFFFF);
  CHECK((dark.pixels.front() & 0xFFU) < 0x40U);
}
