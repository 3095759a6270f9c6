// Values measured between two nodes, as a square of cells that somebody can look at. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace muster::checks {

// From row to column; the diagonal stays empty. With more than kMaxCells names, neighbors share a
// cell, which has their lowest value: no grid has more than that many cells a side.
class PairGrid {
 public:
  static constexpr size_t kMaxCells = 128;

  explicit PairGrid(const std::vector<std::string>& names);

  // Values that are not finite are left out. REQUIRES: `row` and `column` are places in `names`.
  void Take(size_t row, size_t column, double value);

  // Names that share a row, and the column of the same number.
  struct Block {
    std::string label;  // "c001", "c001–c004"
    size_t names = 0;
  };
  const std::vector<Block>& blocks() const { return blocks_; }
  // The value from one block to another, by their places; nullopt where nothing was measured.
  std::optional<double> Cell(size_t row, size_t column) const {
    return cells_[row * blocks_.size() + column];
  }
  // The lowest and the highest cell; nullopt: all are empty.
  struct Range {
    double low = 0, high = 0;
  };
  std::optional<Range> range() const;

 private:
  size_t names_each_;  // of a block; the last may have fewer
  std::vector<Block> blocks_;
  std::vector<std::optional<double>> cells_;  // blocks_.size()² of them, row by row
};

}  // namespace muster::checks
