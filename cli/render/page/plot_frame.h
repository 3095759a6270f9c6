// Shared parts of the plots: a picture with a title, and the axes of a rectangle in it.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace muster::cli {

// A range of values and the pixels that it takes; `from_pixel` may be the larger one.
struct PlotScale {
  double from = 0, to = 1;  // from < to
  double from_pixel = 0, to_pixel = 1;
  double At(double value) const;
};

// A range that holds `low` and `high`, widened where they are equal.
PlotScale RoundedScale(double low, double high, double from_pixel, double to_pixel);

std::string SvgOpen(int width, int height, absl::string_view title);
inline constexpr absl::string_view kSvgClose = "</svg>\n";
// The positions of a scale's ticks.
std::string SvgText(double x, double y, absl::string_view anchor, absl::string_view style,
                    absl::string_view text);
std::string SvgLine(double x1, double y1, double x2, double y2, absl::string_view style);
// Grid lines and labels of a scale, across the rectangle given by the other scale's pixels.
std::string SvgYAxis(const PlotScale& y, const PlotScale& x);
std::string SvgXAxis(const PlotScale& x, const PlotScale& y, absl::string_view label);
// A coordinate in its shortest form: tenths of a pixel.
std::string Pixel(double value);

}  // namespace muster::cli
