#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "cli/render/page/html.h"
#include "cli/render/page/plot.h"
#include "cli/render/page/plot_frame.h"

namespace muster::cli {
namespace {

constexpr int kPlotWidth = 560, kPlotHeight = 250, kLegendRow = 16, kLegendColumns = 3;
constexpr double kPlotLeft = 58, kPlotRight = kPlotWidth - 24, kPlotTop = 26, kPlotBottom = 206;
constexpr size_t kColors = 8;

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void Add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

// The line's points, at most a few per column of pixels: first, lowest, highest, last.
std::string Path(const PlotSeries& series, const PlotScale& x, const PlotScale& y) {
  std::string out;
  size_t at = 0;
  while (at < series.points.size()) {
    const double column = std::floor(x.At(series.points[at].first));
    size_t low = at, high = at, last = at;
    for (; last < series.points.size() && std::floor(x.At(series.points[last].first)) == column;
         ++last) {
      if (series.points[last].second < series.points[low].second) low = last;
      if (series.points[last].second > series.points[high].second) high = last;
    }
    std::vector<size_t> shown = {at, low, high, last - 1};
    std::sort(shown.begin(), shown.end());
    shown.erase(std::unique(shown.begin(), shown.end()), shown.end());
    for (const size_t point : shown)
      absl::StrAppend(&out, out.empty() ? "" : " ", Pixel(x.At(series.points[point].first)), ",",
                      Pixel(y.At(series.points[point].second)));
    at = last;
  }
  return out;
}

// Points that can be drawn.
PlotSeries Finite(const PlotSeries& series) {
  PlotSeries out{series.name, {}};
  for (const auto& point : series.points)
    if (std::isfinite(point.first) && std::isfinite(point.second)) out.points.push_back(point);
  return out;
}

std::string SeriesColor(size_t series) {
  return absl::StrCat("var(--series-", series % kColors, ")");
}

}  // namespace

std::string DrawLinePlot(const LinePlot& plot) {
  Range xs, ys;
  std::vector<PlotSeries> drawn;
  for (const PlotSeries& series : plot.series) {
    drawn.push_back(Finite(series));
    for (const auto& [x, y] : drawn.back().points) {
      xs.Add(x);
      ys.Add(y);
    }
  }
  if (xs.empty()) return "";
  if (plot.limit.has_value()) ys.Add(*plot.limit);

  const PlotScale x{xs.low, xs.high > xs.low ? xs.high : xs.low + 1, kPlotLeft, kPlotRight};
  const PlotScale y = RoundedScale(ys.low, ys.high, kPlotBottom, kPlotTop);
  const int legend_rows = static_cast<int>((drawn.size() + kLegendColumns - 1) / kLegendColumns);
  std::string out =
      absl::StrCat(SvgOpen(kPlotWidth, kPlotHeight + legend_rows * kLegendRow, plot.title),
                   SvgYAxis(y, x), SvgXAxis(x, y, plot.x_label));
  for (size_t n = 0; n < drawn.size(); ++n) {
    if (drawn[n].points.empty()) continue;
    absl::StrAppend(&out, "<polyline class=\"series\" stroke=\"", SeriesColor(n),
                    "\" stroke-width=\"1.5\" points=\"", Path(drawn[n], x, y), "\"><title>",
                    HtmlText(drawn[n].name), "</title></polyline>\n");
    const double left =
        kPlotLeft + (kPlotRight - kPlotLeft) / kLegendColumns * (n % kLegendColumns);
    const double top = kPlotHeight + kLegendRow * static_cast<double>(n / kLegendColumns);
    absl::StrAppend(&out, "<rect x=\"", Pixel(left), "\" y=\"", Pixel(top - 9),
                    "\" width=\"12\" height=\"4\" fill=\"", SeriesColor(n), "\"/>\n",
                    SvgText(left + 18, top - 3, "start", "", drawn[n].name));
  }
  if (plot.limit.has_value())
    absl::StrAppend(&out,
                    SvgLine(kPlotLeft, y.At(*plot.limit), kPlotRight, y.At(*plot.limit), "limit"),
                    SvgText(kPlotRight, y.At(*plot.limit) - 4, "end", "quiet", plot.limit_label));
  return absl::StrCat(out, kSvgClose);
}

}  // namespace muster::cli
