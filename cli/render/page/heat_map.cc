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

// From dark (low) to light (high) through five colours of even steps in lightness, which is also
// readable in grey (after the colour map "viridis" of matplotlib).
std::string HeatColour(double fraction) {
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

std::string Rectangle(double x, double y, double width, double height, absl::string_view colour,
                      absl::string_view hint) {
  return absl::StrCat("<rect x=\"", Pixel(x), "\" y=\"", Pixel(y), "\" width=\"", Pixel(width),
                      "\" height=\"", Pixel(height), "\" fill=\"", colour, "\">",
                      hint.empty() ? "" : absl::StrCat("<title>", HtmlText(hint), "</title>"),
                      "</rect>\n");
}

}  // namespace

HeatMap::HeatMap(std::string title, std::string unit, const std::vector<std::string>& names)
    : title_(std::move(title)),
      unit_(std::move(unit)),
      names_each_(std::max<size_t>(1, (names.size() + kMaxHeatMapCells - 1) / kMaxHeatMapCells)) {
  for (size_t from = 0; from < names.size(); from += names_each_) {
    const size_t to = std::min(from + names_each_, names.size());
    blocks_.push_back(
        {to - from == 1 ? names[from] : absl::StrCat(names[from], "–", names[to - 1]), to - from});
  }
  cells_.resize(blocks_.size() * blocks_.size());
}

void HeatMap::Take(size_t row, size_t column, double value) {
  if (row == column || !std::isfinite(value)) return;
  std::optional<double>& cell = cells_[row / names_each_ * blocks_.size() + column / names_each_];
  cell = std::min(cell.value_or(value), value);
}

std::string HeatMap::Draw() const {
  std::optional<double> low, high;
  for (const std::optional<double>& cell : cells_) {
    if (!cell.has_value()) continue;
    low = std::min(low.value_or(*cell), *cell);
    high = std::max(high.value_or(*cell), *cell);
  }
  if (!low.has_value()) return "";
  // Dark means at most half of the best: pairs that hardly differ must not look as if they did.
  const double darkest = std::min(*low, *high / 2);

  size_t longest = 0;
  for (const Block& block : blocks_) longest = std::max(longest, block.label.size());
  const double left = std::min(20 + 7.0 * static_cast<double>(longest), 200.0);
  const double cell = kSide / static_cast<double>(blocks_.size());
  const size_t label_every = (blocks_.size() + kMaxLabels - 1) / kMaxLabels;
  std::string out = SvgOpen(static_cast<int>(left + kSide + 8),
                            static_cast<int>(kHeatTop + kSide + kKeyHeight), title_);
  for (size_t r = 0; r < blocks_.size(); ++r) {
    if (r % label_every == 0) {
      const double middle = kHeatTop + cell * (static_cast<double>(r) + 0.5);
      const double across = left + cell * (static_cast<double>(r) + 0.5);
      absl::StrAppend(&out, SvgText(left - 6, middle + 4, "end", "quiet", blocks_[r].label));
      absl::StrAppend(&out, "<g transform=\"translate(", Pixel(across + 4), " ",
                      Pixel(kHeatTop - 6), ") rotate(-60)\">",
                      SvgText(0, 0, "start", "quiet", blocks_[r].label), "</g>\n");
    }
    for (size_t c = 0; c < blocks_.size(); ++c) {
      const std::optional<double>& value = cells_[r * blocks_.size() + c];
      if (r == c && blocks_[r].names == 1) continue;
      const std::string pair = absl::StrCat(blocks_[r].label, " → ", blocks_[c].label, ": ");
      absl::StrAppend(
          &out,
          Rectangle(left + cell * static_cast<double>(c), kHeatTop + cell * static_cast<double>(r),
                    std::max(cell - 1, 1.0), std::max(cell - 1, 1.0),
                    value.has_value()
                        ? HeatColour(*high > darkest ? (*value - darkest) / (*high - darkest) : 1)
                        : "var(--none)",
                    value.has_value() ? absl::StrCat(pair, PlotNumber(*value), " ", unit_)
                                      : absl::StrCat(pair, "not measured")));
    }
  }
  constexpr int kKeySteps = 40;
  const double key = kHeatTop + kSide + 12;
  for (int step = 0; step < kKeySteps; ++step)
    absl::StrAppend(&out, Rectangle(left + step * 5, key, 5.2, 10,
                                    HeatColour(step / static_cast<double>(kKeySteps - 1)), ""));
  absl::StrAppend(&out, SvgText(left, key + 24, "start", "quiet", PlotNumber(darkest)),
                  SvgText(left + kKeySteps * 5, key + 24, "end", "quiet",
                          absl::StrCat(PlotNumber(*high), " ", unit_)));
  return absl::StrCat(out, kSvgClose);
}

}  // namespace muster::cli
