// Output of results: aligned tables for people, JSON and YAML for programs.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cli/context.h"

namespace muster::cli {

// Rows under a header, aligned by their display width.
class Table {
 public:
  explicit Table(std::vector<std::string> header);
  void AddRow(std::vector<std::string> cells);
  std::string ToString() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// `value` as indented JSON or as YAML, with a final newline. REQUIRES: format is not kTable.
std::string Format(const nlohmann::ordered_json& value, OutputFormat format);

// The format of that name.
std::optional<OutputFormat> ParseOutputFormat(absl::string_view name);

// The YAML of a JSON value: block style, strings quoted only where YAML needs it.
std::string ToYaml(const nlohmann::ordered_json& value);

// Columns that the text takes on a terminal, counting each UTF-8 character as one.
size_t DisplayWidth(absl::string_view text);

// "512 B", "9 MB".
std::string HumanBytes(uint64_t bytes);

// "5m ago", "in 3h"; "never" for the zero time.
std::string HumanTime(absl::Time time, absl::Time now);

}  // namespace muster::cli
