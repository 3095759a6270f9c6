#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "cli/render/page/html.h"
#include "cli/render/page/plot.h"
#include "cli/render/page/plot_frame.h"

namespace muster::cli {
namespace {

constexpr int kHistogramWidth = 420, kHistogramHeight = 220;
constexpr double kHistogramLeft = 40, kHistogramRight = kHistogramWidth - 30, kHistogramTop = 40,
                 kHistogramBottom = 178;
constexpr size_t kMaxMarks = 12;

// The square root of the count, within what can be told apart.
size_t Bins(size_t values) {
  return std::clamp(static_cast<size_t>(std::sqrt(static_cast<double>(values))) + 1, size_t{5},
                    size_t{30});
}

}  // namespace

std::string DrawHistogram(const Histogram& histogram) {
  std::vector<double> values;
  for (const double value : histogram.values)
    if (std::isfinite(value)) values.push_back(value);
  if (values.empty()) return "";
  auto [low, high] = std::minmax_element(values.begin(), values.end());
  double from = *low, to = *high;
  if (histogram.floor.has_value()) {
    from = std::min(from, *histogram.floor);
    to = std::max(to, *histogram.floor);
  }
  const PlotScale x = RoundedScale(from, to, kHistogramLeft, kHistogramRight);
  const size_t bins = Bins(values.size());
  std::vector<size_t> counts(bins, 0);
  for (const double value : values) {
    const double at = (value - x.from) / (x.to - x.from) * static_cast<double>(bins);
    ++counts[std::min(static_cast<size_t>(at), bins - 1)];
  }
  const size_t most = *std::max_element(counts.begin(), counts.end());
  const PlotScale y{0, static_cast<double>(most) * 1.05, kHistogramBottom, kHistogramTop};

  std::string out = absl::StrCat(SvgOpen(kHistogramWidth, kHistogramHeight, histogram.title),
                                 SvgText(kHistogramLeft - 6, y.At(static_cast<double>(most)) + 4,
                                         "end", "quiet", absl::StrCat(most)));
  const double width = (kHistogramRight - kHistogramLeft) / static_cast<double>(bins);
  for (size_t bin = 0; bin < bins; ++bin) {
    if (counts[bin] == 0) continue;
    const double top = y.At(static_cast<double>(counts[bin]));
    absl::StrAppend(&out, "<rect x=\"", Pixel(kHistogramLeft + width * static_cast<double>(bin)),
                    "\" y=\"", Pixel(top), "\" width=\"", Pixel(std::max(width - 1, 1.0)),
                    "\" height=\"", Pixel(kHistogramBottom - top),
                    "\" fill=\"var(--series-0)\"><title>", counts[bin], "</title></rect>\n");
  }
  absl::StrAppend(&out, SvgXAxis(x, y, histogram.unit == "1" ? "" : histogram.unit));
  if (histogram.floor.has_value())
    absl::StrAppend(&out,
                    SvgLine(x.At(*histogram.floor), kHistogramTop, x.At(*histogram.floor),
                            kHistogramBottom, "limit"),
                    SvgText(x.At(*histogram.floor), kHistogramTop - 4, "middle", "quiet",
                            absl::StrCat("limit ", PlotNumber(*histogram.floor))));
  for (size_t n = 0; n < std::min(histogram.marked.size(), kMaxMarks); ++n) {
    const auto& [name, value] = histogram.marked[n];
    if (!std::isfinite(value)) continue;
    absl::StrAppend(&out, "<circle cx=\"", Pixel(x.At(value)), "\" cy=\"",
                    Pixel(kHistogramBottom - 5), "\" r=\"4\" fill=\"var(--fail)\"><title>",
                    HtmlText(absl::StrCat(name, ": ", PlotNumber(value))), "</title></circle>\n");
  }
  return absl::StrCat(out, kSvgClose);
}

}  // namespace muster::cli
