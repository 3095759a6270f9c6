#include "common/checks/pair_grid.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace muster::checks {

PairGrid::PairGrid(const std::vector<std::string>& names)
    : names_each_(std::max<size_t>(1, (names.size() + kMaxCells - 1) / kMaxCells)) {
  for (size_t from = 0; from < names.size(); from += names_each_) {
    const size_t to = std::min(from + names_each_, names.size());
    blocks_.push_back(
        {to - from == 1 ? names[from] : absl::StrCat(names[from], "–", names[to - 1]), to - from});
  }
  cells_.resize(blocks_.size() * blocks_.size());
}

void PairGrid::Take(size_t row, size_t column, double value) {
  if (row == column || !std::isfinite(value)) return;
  std::optional<double>& cell = cells_[row / names_each_ * blocks_.size() + column / names_each_];
  cell = std::min(cell.value_or(value), value);
}

std::optional<PairGrid::Range> PairGrid::range() const {
  std::optional<Range> range;
  for (const std::optional<double>& cell : cells_) {
    if (!cell.has_value()) continue;
    if (!range.has_value()) range = {*cell, *cell};
    range->low = std::min(range->low, *cell);
    range->high = std::max(range->high, *cell);
  }
  return range;
}

}  // namespace muster::checks
