#include "cli/render/page/plot.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/render/page/html.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

size_t Count(const std::string& text, const std::string& word) {
  return std::vector<std::string>(absl::StrSplit(text, word)).size() - 1;
}

TEST(HtmlTest, EscapesWhatCouldBecomeATag) {
  EXPECT_EQ(HtmlText("<img src=x onerror=\"a\"> & 'b'"),
            "&lt;img src=x onerror=&quot;a&quot;&gt; &amp; &#39;b&#39;");
}

TEST(HtmlTest, ReplacesWhatIsNoText) {
  EXPECT_EQ(HtmlText(absl::string_view("a\0b\x1b[1m\xff\xc3", 9)), "a�b�[1m��");
  EXPECT_EQ(HtmlText("\xed\xa0\x80"), "���");  // a surrogate
  EXPECT_EQ(HtmlText("Größe 日本 😀\n"), "Größe 日本 😀\n");
}

TEST(HtmlTest, PageFetchesNothing) {
  const std::string page = HtmlPage("t", "");
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, Not(HasSubstr("http://")));
  EXPECT_THAT(page, Not(HasSubstr("https://")));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
}

TEST(PlotTest, StepsAreRound) {
  EXPECT_DOUBLE_EQ(NiceStep(100, 5), 20);
  EXPECT_DOUBLE_EQ(NiceStep(7, 6), 2);
  EXPECT_DOUBLE_EQ(NiceStep(0.03, 6), 0.005);
}

TEST(PlotTest, NumbersAreShort) {
  EXPECT_EQ(PlotNumber(3350.4), "3,350");
  EXPECT_EQ(PlotNumber(-1234567), "-1,234,567");
  EXPECT_EQ(PlotNumber(0.0421), "0.0421");
  EXPECT_EQ(PlotNumber(std::nan("")), "NaN");
}

TEST(LinePlotTest, NothingToDraw) {
  EXPECT_EQ(DrawLinePlot({"t", "s", {{"a", {}}}, std::nullopt}), "");
  EXPECT_EQ(DrawLinePlot({"t", "s", {{"a", {{0, std::nan("")}}}}, std::nullopt}), "");
}

TEST(LinePlotTest, TheZeroOfAnAxisHasNoSign) {
  const std::string svg = DrawLinePlot({"t", "s", {{"a", {{0, 0}, {10, 5}}}}, std::nullopt});
  EXPECT_THAT(svg, HasSubstr(">0<"));
  EXPECT_THAT(svg, Not(HasSubstr(">-0<")));
}

TEST(LinePlotTest, KeepsTheSpikeOfALongSeries) {
  PlotSeries series{"gpu 0", {}};
  for (int at = 0; at < 100'000; ++at) series.points.emplace_back(at, at == 54'321 ? 93 : 60);
  const std::string svg = DrawLinePlot({"temperature", "seconds", {series}, 90.0, "limit 90"});
  EXPECT_LT(svg.size(), 30'000u);
  // The highest point lies above the line of the limit.
  const size_t points = svg.find("points=\"") + 8;
  double top = 1e9;
  for (absl::string_view point :
       absl::StrSplit(svg.substr(points, svg.find('"', points) - points), ' ')) {
    const std::vector<std::string> xy = absl::StrSplit(point, ',');
    top = std::min(top, std::stod(xy[1]));
  }
  const size_t limit = svg.rfind("y1=\"", svg.find("class=\"limit\"")) + 4;
  EXPECT_LT(top, std::stod(svg.substr(limit)));
}

TEST(LinePlotTest, OneValueIsALineInTheMiddle) {
  EXPECT_THAT(DrawLinePlot({"t", "s", {{"a", {{5, 42}}}}, std::nullopt}), HasSubstr("<polyline"));
}

HeatMap PairsOf(const std::vector<std::string>& names) {
  return {"pairs", "Gbit/s", checks::PairGrid(names)};
}

TEST(HeatMapTest, DrawsEachPairOnceAndNotTheDiagonal) {
  HeatMap map = PairsOf({"c1", "c2", "c3"});
  map.grid.Take(0, 1, 9.4);
  map.grid.Take(1, 0, 4.7);
  map.grid.Take(1, 1, 3.3);
  const std::string svg = DrawHeatMap(map);
  EXPECT_THAT(svg, HasSubstr("c1 → c2: 9.4 Gbit/s"));
  EXPECT_THAT(svg, HasSubstr("c2 → c1: 4.7 Gbit/s"));
  EXPECT_THAT(svg, Not(HasSubstr("3.3")));
  EXPECT_EQ(Count(svg, "not measured"), 4u);
}

TEST(HeatMapTest, WithoutValuesThereIsNone) {
  HeatMap map = PairsOf({"c1", "c2"});
  map.grid.Take(0, 1, std::nan(""));
  EXPECT_EQ(DrawHeatMap(map), "");
  EXPECT_EQ(DrawHeatMap(PairsOf({})), "");
}

TEST(HeatMapTest, PairsThatHardlyDifferLookAlike) {
  HeatMap map = PairsOf({"c1", "c2"});
  map.grid.Take(0, 1, 9.41);
  map.grid.Take(1, 0, 9.40);
  EXPECT_THAT(DrawHeatMap(map), Not(HasSubstr("fill=\"#440154\"><title>")));  // the darkest
  map.grid.Take(1, 0, 4.0);
  EXPECT_THAT(DrawHeatMap(map), HasSubstr("fill=\"#440154\"><title>"));
}

TEST(HeatMapTest, ManyNodesShareCellsThatShowTheWorst) {
  std::vector<std::string> names;
  for (int n = 0; n < 1000; ++n) names.push_back(absl::StrCat("c", n));
  HeatMap map = PairsOf(names);
  map.grid.Take(500, 20, 1.0);
  map.grid.Take(501, 21, 9.4);  // 8 names per cell
  map.grid.Take(999, 0, 9.4);
  const std::string svg = DrawHeatMap(map);
  EXPECT_LT(svg.size(), 4u << 20);
  EXPECT_EQ(Count(svg, "c496–c503 → c16–c23: 1 Gbit/s"), 1u);
  EXPECT_EQ(Count(svg, "c992–c999 → c0–c7: 9.4 Gbit/s"), 1u);
}

TEST(HistogramTest, CountsEveryValueOnce) {
  Histogram histogram{"tflops", "TFLOPS", {}, {{"c3 gpu 1", 40}}, 50.0};
  for (int n = 0; n < 24; ++n) histogram.values.push_back(55 + n * 0.1);
  histogram.values.push_back(40);
  const std::string svg = DrawHistogram(histogram);
  size_t sum = 0;
  for (size_t at = svg.find("var(--series-0)\"><title>"); at != std::string::npos;
       at = svg.find("var(--series-0)\"><title>", at + 1))
    sum += std::stoul(svg.substr(at + 24));
  EXPECT_EQ(sum, 25u);
  EXPECT_THAT(svg, HasSubstr("limit 50"));
  EXPECT_THAT(svg, HasSubstr("c3 gpu 1: 40"));
}

}  // namespace
}  // namespace muster::cli
