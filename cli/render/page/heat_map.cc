#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/render/page/html.h"
#include "cli/render/page/plot.h"
#include "cli/render/page/plot_frame.h"

namespace muster::cli {
namespace {

constexpr double kSide = 420, kHeatTop = 96, kKeyHeight = 44;
constexpr size_t kMaxLabels = 40;

// From dark (low) to light (high) through five colors of even steps in lightness, which is also
// readable in grey (after the color map "viridis" of matplotlib).
std::string HeatColor(double fraction) {
  constexpr std::array<std::array<double, 3>, 5> kStops = {
      {{68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}}};
  const double at = std::clamp(fraction, 0.0, 1.0) * (kStops.size() - 1);
  const size_t low = std::min(static_cast<size_t>(at), kStops.size() - 2);
  const double part = at - static_cast<double>(low);
  const auto mix = [&](size_t channel) {
    return static_cast<int>(
        std::lround(kStops[low][channel] * (1 - part) + kStops[low + 1][channel] * part));
  };
  return absl::StrFormat("#%02x%02x%02x", mix(0), mix(1), mix(2));
}

std::string Rectangle(double x, double y, double width, double height, absl::string_view color,
                      absl::string_view hint) {
  return absl::StrCat("<rect x=\"", Pixel(x), "\" y=\"", Pixel(y), "\" width=\"", Pixel(width),
                      "\" height=\"", Pixel(height), "\" fill=\"", color, "\">",
                      hint.empty() ? "" : absl::StrCat("<title>", HtmlText(hint), "</title>"),
                      "</rect>\n");
}

}  // namespace

std::string DrawHeatMap(const HeatMap& map) {
  const std::optional<checks::PairGrid::Range> range = map.grid.range();
  if (!range.has_value()) return "";
  const auto& blocks = map.grid.blocks();
  // Dark means at most half of the best: pairs that hardly differ must not look as if they did.
  const double darkest = std::min(range->low, range->high / 2);

  size_t longest = 0;
  for (const checks::PairGrid::Block& block : blocks)
    longest = std::max(longest, block.label.size());
  const double left = std::min(20 + 7.0 * static_cast<double>(longest), 200.0);
  const double cell = kSide / static_cast<double>(blocks.size());
  const size_t label_every = (blocks.size() + kMaxLabels - 1) / kMaxLabels;
  std::string out = SvgOpen(static_cast<int>(left + kSide + 8),
                            static_cast<int>(kHeatTop + kSide + kKeyHeight), map.title);
  for (size_t r = 0; r < blocks.size(); ++r) {
    if (r % label_every == 0) {
      const double middle = kHeatTop + cell * (static_cast<double>(r) + 0.5);
      const double across = left + cell * (static_cast<double>(r) + 0.5);
      absl::StrAppend(&out, SvgText(left - 6, middle + 4, "end", "quiet", blocks[r].label));
      absl::StrAppend(&out, "<g transform=\"translate(", Pixel(across + 4), " ",
                      Pixel(kHeatTop - 6), ") rotate(-60)\">",
                      SvgText(0, 0, "start", "quiet", blocks[r].label), "</g>\n");
    }
    for (size_t c = 0; c < blocks.size(); ++c) {
      const std::optional<double> value = map.grid.Cell(r, c);
      if (r == c && blocks[r].names == 1) continue;
      const std::string pair = absl::StrCat(blocks[r].label, " → ", blocks[c].label, ": ");
      absl::StrAppend(
          &out,
          Rectangle(left + cell * static_cast<double>(c), kHeatTop + cell * static_cast<double>(r),
                    std::max(cell - 1, 1.0), std::max(cell - 1, 1.0),
                    value.has_value() ? HeatColor(range->high > darkest
                                                      ? (*value - darkest) / (range->high - darkest)
                                                      : 1)
                                      : "var(--none)",
                    value.has_value() ? absl::StrCat(pair, PlotNumber(*value), " ", map.unit)
                                      : absl::StrCat(pair, "not measured")));
    }
  }
  constexpr int kKeySteps = 40;
  const double key = kHeatTop + kSide + 12;
  for (int step = 0; step < kKeySteps; ++step)
    absl::StrAppend(&out, Rectangle(left + step * 5, key, 5.2, 10,
                                    HeatColor(step / static_cast<double>(kKeySteps - 1)), ""));
  absl::StrAppend(&out, SvgText(left, key + 24, "start", "quiet", PlotNumber(darkest)),
                  SvgText(left + kKeySteps * 5, key + 24, "end", "quiet",
                          absl::StrCat(PlotNumber(range->high), " ", map.unit)));
  return absl::StrCat(out, kSvgClose);
}

}  // namespace muster::cli
