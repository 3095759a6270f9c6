#include "agent/burnin/nic/rdma/perftest.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status.h"

namespace muster::burnin {
namespace {

// Beginnings of column titles. Version and options decide which appear and in which order.
constexpr absl::string_view kTitles[] = {
    "#bytes",      "#iterations", "BW peak[", "BW average[", "MsgRate[",        "t_min[",
    "t_max[",      "t_typical[",  "t_avg[",   "t_stdev[",    "99% percentile[", "99.9% percentile[",
    "tps average", "CPU_Util[%]"};

// A row of the table, by title, and the line with the titles.
struct Row {
  std::map<absl::string_view, double> values;
  std::string header;
};

// Empty if a word is not a number.
std::vector<double> Numbers(absl::string_view line) {
  std::vector<double> numbers;
  for (const absl::string_view word :
       absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty())) {
    double number = 0;
    if (!absl::SimpleAtod(word, &number) || !std::isfinite(number)) return {};
    numbers.push_back(number);
  }
  return numbers;
}

absl::StatusOr<Row> LastRow(absl::string_view output) {
  Row row;
  std::vector<std::pair<size_t, absl::string_view>> columns;
  for (const absl::string_view line : absl::StrSplit(output, '\n')) {
    if (absl::StrContains(line, "#bytes")) {
      columns.clear();
      row.header = std::string(line);
      for (const absl::string_view title : kTitles)
        if (const size_t at = line.find(title); at != absl::string_view::npos)
          columns.emplace_back(at, title);
      std::sort(columns.begin(), columns.end());
      continue;
    }
    const std::vector<double> numbers = Numbers(line);
    if (columns.empty() || numbers.size() != columns.size()) continue;
    row.values.clear();
    for (size_t i = 0; i < numbers.size(); ++i) row.values[columns[i].second] = numbers[i];
  }
  if (row.values.empty())
    return absl::InvalidArgumentError("perftest did not print a readable table");
  return row;
}

absl::StatusOr<double> ValueOf(const Row& row, absl::string_view title) {
  const auto it = row.values.find(title);
  if (it == row.values.end() || it->second < 0)
    return absl::InvalidArgumentError(absl::StrCat("perftest printed no column '", title, "…]'"));
  return it->second;
}

}  // namespace

absl::StatusOr<double> ParseWriteBandwidth(absl::string_view output) {
  ASSIGN_OR_RETURN(const Row row, LastRow(output));
  ASSIGN_OR_RETURN(const double average, ValueOf(row, "BW average["));
  if (absl::StrContains(row.header, "BW average[Gb/sec]")) return average;
  // perftest's MB is 2^20 bytes (man ib_write_bw).
  if (absl::StrContains(row.header, "BW average[MB/sec]")) return average * 1048576 * 8 / 1e9;
  return absl::InvalidArgumentError("perftest printed a rate in an unknown unit");
}

absl::StatusOr<WriteLatency> ParseWriteLatency(absl::string_view output) {
  ASSIGN_OR_RETURN(const Row row, LastRow(output));
  WriteLatency latency;
  ASSIGN_OR_RETURN(latency.typical_us, ValueOf(row, "t_typical["));
  ASSIGN_OR_RETURN(latency.p99_us, ValueOf(row, "99% percentile["));
  ASSIGN_OR_RETURN(latency.p999_us, ValueOf(row, "99.9% percentile["));
  return latency;
}

}  // namespace muster::burnin
