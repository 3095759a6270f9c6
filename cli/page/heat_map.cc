#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/page/html.h"
#include "cli/page/plot.h"
#include "cli/page/plot_frame.h"

namespace muster::cli {
namespace {

constexpr double kSide = 420, kTop = 96, kKeyHeight = 44;
constexpr size_t kMaxLabels = 40;

// Names that share a row, and the column of the same number.
struct Block {
  std::string label;
  size_t from, to;
};

std::vector<Block> Blocks(const std::vector<std::string>& names) {
  const size_t each = (names.size() + kMaxHeatMapCells - 1) / kMaxHeatMapCells;
  std::vector<Block> blocks;
  for (size_t from = 0; from < names.size(); from += each) {
    const size_t to = std::min(from + each, names.size());
    blocks.push_back(
        {to - from == 1 ? names[from] : absl::StrCat(names[from], "–", names[to - 1]), from, to});
  }
  return blocks;
}

std::optional<double> Lowest(const HeatMap& map, const Block& row, const Block& column) {
  std::optional<double> lowest;
  for (size_t r = row.from; r < row.to; ++r)
    for (size_t c = column.from; c < column.to; ++c) {
      const std::optional<double>& value = map.values[r * map.names.size() + c];
      if (r == c || !value.has_value() || !std::isfinite(*value)) continue;
      if (!lowest.has_value() || *value < *lowest) lowest = value;
    }
  return lowest;
}

// From dark (low) to light (high) through five colours of even steps in lightness, which is also
// read in grey (after the colour map "viridis" of matplotlib).
std::string Colour(double fraction) {
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

std::string DrawHeatMap(const HeatMap& map) {
  const std::vector<Block> blocks = Blocks(map.names);
  std::vector<std::optional<double>> cells;
  std::optional<double> low, high;
  for (const Block& row : blocks)
    for (const Block& column : blocks) {
      cells.push_back(Lowest(map, row, column));
      if (!cells.back().has_value()) continue;
      low = std::min(low.value_or(*cells.back()), *cells.back());
      high = std::max(high.value_or(*cells.back()), *cells.back());
    }
  if (!low.has_value()) return "";
  // Half of the best is dark: pairs that hardly differ must not look as if they did.
  const double darkest = std::min(*low, *high / 2);

  size_t longest = 0;
  for (const Block& block : blocks) longest = std::max(longest, block.label.size());
  const double left = std::min(20 + 7.0 * static_cast<double>(longest), 200.0);
  const double cell = kSide / static_cast<double>(blocks.size());
  const size_t label_every = (blocks.size() + kMaxLabels - 1) / kMaxLabels;
  std::string out = SvgOpen(static_cast<int>(left + kSide + 8),
                            static_cast<int>(kTop + kSide + kKeyHeight), map.title);
  for (size_t r = 0; r < blocks.size(); ++r) {
    if (r % label_every == 0) {
      const double middle = kTop + cell * (static_cast<double>(r) + 0.5);
      const double across = left + cell * (static_cast<double>(r) + 0.5);
      absl::StrAppend(&out, SvgText(left - 6, middle + 4, "end", "quiet", blocks[r].label));
      absl::StrAppend(&out, "<g transform=\"translate(", Pixel(across + 4), " ", Pixel(kTop - 6),
                      ") rotate(-60)\">", SvgText(0, 0, "start", "quiet", blocks[r].label),
                      "</g>\n");
    }
    for (size_t c = 0; c < blocks.size(); ++c) {
      const std::optional<double>& value = cells[r * blocks.size() + c];
      if (r == c && blocks[r].to - blocks[r].from == 1) continue;
      const std::string pair = absl::StrCat(blocks[r].label, " → ", blocks[c].label, ": ");
      absl::StrAppend(
          &out,
          Rectangle(left + cell * static_cast<double>(c), kTop + cell * static_cast<double>(r),
                    std::max(cell - 1, 1.0), std::max(cell - 1, 1.0),
                    value.has_value()
                        ? Colour(*high > darkest ? (*value - darkest) / (*high - darkest) : 1)
                        : "var(--none)",
                    value.has_value() ? absl::StrCat(pair, PlotNumber(*value), " ", map.unit)
                                      : absl::StrCat(pair, "not measured")));
    }
  }
  constexpr int kKeySteps = 40;
  const double key = kTop + kSide + 12;
  for (int step = 0; step < kKeySteps; ++step)
    absl::StrAppend(&out, Rectangle(left + step * 5, key, 5.2, 10,
                                    Colour(step / static_cast<double>(kKeySteps - 1)), ""));
  absl::StrAppend(&out, SvgText(left, key + 24, "start", "quiet", PlotNumber(darkest)),
                  SvgText(left + kKeySteps * 5, key + 24, "end", "quiet",
                          absl::StrCat(PlotNumber(*high), " ", map.unit)));
  return absl::StrCat(out, kSvgClose);
}

}  // namespace muster::cli
