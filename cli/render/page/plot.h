// Plots of measurements as SVG for use inside a page (cli/render/page/html.h defines the
// colors).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/checks/pair_grid.h"

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

// Values of pairs, as checks::PairGrid puts them together; "" without values.
struct HeatMap {
  std::string title;
  std::string unit;
  checks::PairGrid grid;
};
std::string DrawHeatMap(const HeatMap& map);

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
