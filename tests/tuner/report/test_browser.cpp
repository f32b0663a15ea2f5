// The report's page in a real browser, headless: opened, its script run, photographed. Where there is no browser the
// test says so in one line, and CTest shows it as skipped.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tests/catch.hpp"
#include "tests/problem_of_text.hpp"
#include "tests/tuner/bench_file.hpp"
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

/// Thirteen problems, the slowest in the middle, one of them a batch beside its single sister, with a message that
/// would run if it could. The vendor takes four times as long as the third, and half as long as the sixth.
void make_report(const TempFolder& folder) {
  MadeNight night;
  night.recorded(kNight, 0, 3000, "done");
  for (int i = 0; i < 13; ++i) {
    const char* options = i == 8 ? " batch=4 batch_mode=strided" : "";
    night.problem = problem_of_text(
        fmt::format("{} NN {} 1024 1024{}", i < 6 ? "f16f32" : "s8s32", 64 * (i == 8 ? i : i + 1), options));
    for (int x = 0; x < 20; ++x) night.passed(x, (i == 5 ? 900 : 100) + 30.0 / (x + 1));
    night.failed(99, db::Status::mismatch,
        "<script>document.title = 'owned'</script><img src=x onerror=\"document.title='owned'\">");
    night.second += 40;
  }
  night.store_to(folder / "tuned.db");
  write_file(folder / "bench.csv",
      bench_file({bench_row("f16f32 NN 192 1024 1024", db::text(made_device()), "simt{x=19}", "100", "400"),
          bench_row("f16f32 NN 384 1024 1024", db::text(made_device()), "simt{x=19}", "100", "50")}));
  REQUIRE(run(folder, {"report", "--db", "tuned.db", "--bench", "bench.csv", "--out", "report.html"}).status == 0);
}

/// Pixels of this colour, or as good as.
std::size_t pixels_of(const Picture& picture, std::uint32_t colour) {
  const auto near = [&](std::uint32_t pixel) {
    int off = 0;
    for (const unsigned shift : {0U, 8U, 16U})
      off += std::abs(int((pixel >> shift) & 0xFFU) - int((colour >> shift) & 0xFFU));
    return off < 24;
  };
  return std::size_t(std::count_if(picture.pixels.begin(), picture.pixels.end(), near));
}

/// The page with the section of this id alone.
std::string only_section(const std::string& page, const std::string& id) {
  return page + "<script>for (const e of document.querySelectorAll('header, footer, main > section')) if (e.id !== '" +
         id + "') e.remove();</script>";
}

/// Adds to the page what a script finds of its roofline. Of our dots and of the vendor's: how many, those that lie
/// within the chart and lead to a row that is there. Then where a click leads, and whether each of the vendor's is
/// hollow, is what the pointer finds there, tells whose it is, and stands straight above or below ours: by the ratio of
/// the two times, on the axis's logarithmic scale.
constexpr const char* kLookAtRoofline = R"(<script>
  const chart = document.querySelector('#roofline svg.scatter'), problems = document.getElementById('problem-table');
  chart.scrollIntoView();
  const box = chart.getBoundingClientRect();
  const dots = (css) => Array.from(chart.querySelectorAll('a')).filter((link) => link.querySelector('circle.' + css));
  const row = (link) => document.getElementById(link.getAttribute('href').slice(1));
  const within = (e) => { const b = e.getBoundingClientRect(); return b.left >= box.left && b.right <= box.right && b.top >= box.top && b.bottom <= box.bottom; };
  const sound = (link) => within(link.querySelector('circle')) && row(link) && problems.contains(row(link));
  const at = (link, axis) => Number(link.querySelector('circle').getAttribute(axis));
  const found = document.documentElement.dataset, ours = dots('ours'), vendors = dots('vendor');
  found.ours = ours.filter(sound).length + ' of ' + ours.length;
  found.vendors = vendors.filter(sound).length + ' of ' + vendors.length;
  found.roofs = Array.from(chart.querySelectorAll('.roof')).filter(within).length;
  const beside = vendors.map((link) => ours.find((own) => own.getAttribute('href') === link.getAttribute('href')));
  found.rows = vendors.map((link) => link.getAttribute('href')).join(' ');
  found.straight = vendors.every((link, i) => at(link, 'cx') === at(beside[i], 'cx'));
  const below = vendors.map((link, i) => at(link, 'cy') - at(beside[i], 'cy'));
  found.below = below[0] > 0 && Math.abs(below[0] / below[1] + 2) < 0.05;  // log(4) to log(1/2)
  found.hollow = vendors.every((link) => { const style = getComputedStyle(link.querySelector('circle')); return style.fill === 'none' && style.stroke !== 'none'; });
  found.hit = vendors.every((link) => {
    const b = link.querySelector('circle').getBoundingClientRect();
    return document.elementFromPoint(b.left + b.width / 2, b.top + b.height / 2) === link.querySelector('circle');
  });
  found.said = vendors.every((link) => link.getAttribute('aria-label').startsWith('cuBLASLt, f16f32 NN '));
  ours[5].dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}));
  found.at = location.hash;
  vendors[0].dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}));
  found.vendorAt = location.hash;
</script>)";

/// Adds what the filter shows when a batch is asked for by its options, and the first row by each order of them.
constexpr const char* kLookForOptions = R"(<script>
  const table = document.getElementById('problem-table'), body = table.tBodies[0], data = document.documentElement.dataset;
  const shown = () => Array.from(body.rows).filter((row) => !row.hidden).length;
  const input = document.querySelector('.filter input');
  const type = (text) => { input.value = text; input.dispatchEvent(new Event('input')); return shown(); };
  data.filtered = [type('s8s32 512'), type('512 batch=4'), type('STRIDED'), type('batch=5'), type('')].join(' ');
  const column = Array.from(table.tHead.rows[0].cells).find((cell) => cell.textContent === 'options');
  const first = () => { column.querySelector('button').click(); return body.rows[0].cells[column.cellIndex].textContent; };
  data.sorted = [first(), first()].join('|');
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
  write_file(
      folder / "clicked.html", page +
                                   "<script>for (const b of document.querySelectorAll('#problem-table th button')) "
                                   "if (b.textContent === 'µs') b.click();</script>");
  const std::string clicked = browser.dom("clicked.html");
  CHECK(contains(clicked, "aria-sort=\"descending\""));
  CHECK(contains(first_row(clicked), "901.5"));
  CHECK_FALSE(contains(first_row(dom), "901.5"));

  write_file(folder / "options.html", page + kLookForOptions);
  const std::string by_options = browser.dom("options.html");
  CHECK(contains(by_options, "data-filtered=\"2 1 1 0 13\""));
  CHECK(contains(by_options, "data-sorted=\"|batch=4 batch_mode=strided\""));

  // Every dot of the roofline lies within the chart and leads to its row.
  write_file(folder / "roofline.html", page + kLookAtRoofline);
  const std::string looked = browser.dom("roofline.html");
  for (const char* part : {"data-ours=\"13 of 13\"", "data-vendors=\"2 of 2\"", "data-roofs=\"3\"",
           "data-rows=\"#r2 #r5\"", "data-straight=\"true\"", "data-below=\"true\"", "data-hollow=\"true\"",
           "data-hit=\"true\"", "data-said=\"true\"", "data-at=\"#r5\"", "data-vendor-at=\"#r2\""}) {
    INFO(part);
    CHECK(contains(looked, part));
  }
  write_file(folder / "roofline_alone.html", only_section(page, "roofline"));
  const Picture chart = browser.photograph("roofline_alone.html", 1400, 700);
  CHECK(pixels_of(chart, 0x8A5200) > 500);      // the roofs
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
