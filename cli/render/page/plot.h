// Plots of measurements as SVG for use inside a page (cli/render/page/html.h defines the
// colours).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace muster::cli {

struct PlotSeries {
  std::string name;
  std::vector<std::pair<double, double>> points;  // x rising
};

// Values over time.
struct LinePlot {
  std::string title;  // with the unit of y: "temperature, °C"
  std::string x_label;
  std::vector<PlotSeries> series;
  std::optional<double> limit;  // a dashed line
  std::string limit_label = {};
};
// "" without points. In a long series, each column of the picture shows its lowest and highest
// value, so that a spike of one sample is seen.
std::string DrawLinePlot(const LinePlot& plot);

// Values of pairs, from row to column; the diagonal stays empty. With more than kMaxHeatMapCells
// names, neighbours share a cell, which shows their lowest value; so no map has more than that many
// cells a side.
inline constexpr size_t kMaxHeatMapCells = 128;
class HeatMap {
 public:
  HeatMap(std::string title, std::string unit, const std::vector<std::string>& names);
  // REQUIRES: `row` and `column` are places in `names`.
  void Take(size_t row, size_t column, double value);
  // "" without values.
  std::string Draw() const;

 private:
  // Names that share a row, and the column of the same number.
  struct Block {
    std::string label;
    size_t names = 0;
  };

  std::string title_;
  std::string unit_;
  size_t names_each_;  // of a block; the last may have fewer
  std::vector<Block> blocks_;
  std::vector<std::optional<double>> cells_;  // blocks_.size()² of them, row by row
};

// The distribution of values.
struct Histogram {
  std::string title;
  std::string unit;
  std::vector<double> values;
  std::vector<std::pair<std::string, double>> marked;  // named: those that failed
  std::optional<double> floor;                         // a dashed line
};
// "" without values.
std::string DrawHistogram(const Histogram& histogram);

// A step of 1, 2 or 5 times a power of ten that divides `range` into at most `ticks` parts.
// REQUIRES: range > 0, ticks > 0.
double NiceStep(double range, int ticks);

// "3,350", "0.042": four significant digits.
std::string PlotNumber(double value);

}  // namespace muster::cli
