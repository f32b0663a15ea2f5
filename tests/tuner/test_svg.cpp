// What charts are drawn with.
#include <cmath>

#include "tests/catch.hpp"
#include "tuner/svg.hpp"

using namespace tilesmith::tuner::svg;

TEST_CASE("escaped text is safe in elements and attributes") {
  CHECK(escaped("<b a=\"1\" c='2'>&amp;</b>") == "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;&lt;/b&gt;");
  CHECK(escaped("µs × °\tok\n") == "µs × °\tok\n");
  CHECK(escaped(std::string_view("a\0b\x1b[31m", 8)) == "a\uFFFDb\uFFFD[31m");
  CHECK(escaped("\xC2\x85") == "\uFFFD");                  // a control character of two bytes
  CHECK(escaped("\xFF\xC3") == "\uFFFD\uFFFD");            // no UTF-8, and a cut sequence
  CHECK(escaped("\xC0\xBC") == "\uFFFD\uFFFD");            // an overlong "<"
  CHECK(escaped("\xED\xA0\x80") == "\uFFFD\uFFFD\uFFFD");  // a surrogate
  CHECK(escaped("\xF0\x9F\x98\x80") == "\xF0\x9F\x98\x80");
}

TEST_CASE("scales and ticks") {
  const Scale linear{10, 20, 100, 0};
  CHECK(linear.at(15) == 50);
  CHECK((Scale{1, 100, 0, 200, true}).at(10) == Approx(100));
  CHECK(decade_ticks(30) == std::vector<double>{1, 2, 5, 10, 20});
  CHECK(decade_ticks(40).back() == 40);
  CHECK(round_ticks(0, 10, 5) == std::vector<double>{0, 2, 4, 6, 8, 10});
  CHECK(round_ticks(7, 7, 5) == std::vector<double>{7});
  for (const double tick : round_ticks(-1, 1, 4)) CHECK_FALSE(std::signbit(tick == 0 ? tick : 1.0));
}
