#include "cli/render/page/plot_frame.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "cli/render/page/html.h"
#include "cli/render/page/plot.h"

namespace muster::cli {
namespace {

constexpr int kTicks = 6;

// The positions of a scale's ticks.
template <typename Function>
void ForEachTick(const PlotScale& scale, Function fn) {
  const double step = NiceStep(scale.to - scale.from, kTicks);
  const double first = std::ceil(scale.from / step - 1e-9) + 0.0;  // never -0
  for (double n = first; n * step <= scale.to + step * 1e-9; ++n) fn(n * step);
}

}  // namespace

double PlotScale::At(double value) const {
  return from_pixel + (value - from) / (to - from) * (to_pixel - from_pixel);
}

PlotScale RoundedScale(double low, double high, double from_pixel, double to_pixel) {
  if (high - low < std::max(std::abs(high), 1e-9) * 1e-6) {
    const double room = std::max(std::abs(high) * 0.05, 1e-6);
    low -= room;
    high += room;
  }
  const double step = NiceStep(high - low, kTicks);
  return {std::floor(low / step) * step, std::ceil(high / step) * step, from_pixel, to_pixel};
}

double NiceStep(double range, int ticks) {
  const double rough = range / ticks;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

std::string PlotNumber(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "NaN" : value > 0 ? "∞" : "−∞";
  if (std::abs(value) < 1000 || std::abs(value) >= 1e9) return absl::StrFormat("%.4g", value);
  const std::string digits = absl::StrFormat("%.0f", std::abs(value));
  std::string out = value < 0 ? "-" : "";
  for (size_t at = 0; at < digits.size(); ++at) {
    if (at > 0 && (digits.size() - at) % 3 == 0) out.push_back(',');
    out.push_back(digits[at]);
  }
  return out;
}

std::string Pixel(double value) {
  std::string text = absl::StrFormat("%.1f", value);
  absl::string_view shorter = text;
  absl::ConsumeSuffix(&shorter, ".0");
  return std::string(shorter);
}

std::string SvgOpen(int width, int height, absl::string_view title) {
  return absl::StrCat("<svg role=\"img\" width=\"", width, "\" height=\"", height,
                      "\" viewBox=\"0 0 ", width, " ", height, "\"><title>", HtmlText(title),
                      "</title>\n", SvgText(0, 14, "start", "title", title));
}

std::string SvgText(double x, double y, absl::string_view anchor, absl::string_view style,
                    absl::string_view text) {
  return absl::StrCat("<text x=\"", Pixel(x), "\" y=\"", Pixel(y), "\" text-anchor=\"", anchor,
                      "\" class=\"", style, "\">", HtmlText(text), "</text>\n");
}

std::string SvgLine(double x1, double y1, double x2, double y2, absl::string_view style) {
  return absl::StrCat("<line x1=\"", Pixel(x1), "\" y1=\"", Pixel(y1), "\" x2=\"", Pixel(x2),
                      "\" y2=\"", Pixel(y2), "\" class=\"", style, "\"/>\n");
}

std::string SvgYAxis(const PlotScale& y, const PlotScale& x) {
  std::string out;
  ForEachTick(y, [&](double value) {
    absl::StrAppend(&out, SvgLine(x.from_pixel, y.At(value), x.to_pixel, y.At(value), "grid"),
                    SvgText(x.from_pixel - 6, y.At(value) + 4, "end", "quiet", PlotNumber(value)));
  });
  return out;
}

std::string SvgXAxis(const PlotScale& x, const PlotScale& y, absl::string_view label) {
  const double bottom = y.from_pixel;
  std::string out = SvgLine(x.from_pixel, bottom, x.to_pixel, bottom, "axis");
  ForEachTick(x, [&](double value) {
    absl::StrAppend(&out, SvgText(x.At(value), bottom + 15, "middle", "quiet", PlotNumber(value)));
  });
  absl::StrAppend(&out, SvgText(x.to_pixel, bottom + 30, "end", "quiet", label));
  return out;
}

}  // namespace muster::cli
