// SOCI conversions of our types, and the two ways of reading rows.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/time/time.h"
#include "controller/store/soci/headers.h"

namespace soci {

// Times are microseconds since 1970; an absent time or text is NULL.
template <>
struct type_conversion<absl::Time> {
  using base_type = long long;
  static void from_base(base_type in, indicator ind, absl::Time& out) {
    if (ind == i_null) throw soci_error("a time that must be there is NULL");
    out = absl::FromUnixMicros(in);
  }
  static void to_base(absl::Time in, base_type& out, indicator& ind) {
    out = absl::ToUnixMicros(in);
    ind = i_ok;
  }
};

template <>
struct type_conversion<std::optional<absl::Time>> {
  using base_type = long long;
  static void from_base(base_type in, indicator ind, std::optional<absl::Time>& out) {
    out.reset();
    if (ind != i_null) out = absl::FromUnixMicros(in);
  }
  static void to_base(const std::optional<absl::Time>& in, base_type& out, indicator& ind) {
    out = in.has_value() ? absl::ToUnixMicros(*in) : 0;
    ind = in.has_value() ? i_ok : i_null;
  }
};

template <>
struct type_conversion<std::optional<std::string>> {
  using base_type = std::string;
  static void from_base(const base_type& in, indicator ind, std::optional<std::string>& out) {
    out.reset();
    if (ind != i_null) out = in;
  }
  static void to_base(const std::optional<std::string>& in, base_type& out, indicator& ind) {
    out = in.value_or("");
    ind = in.has_value() ? i_ok : i_null;
  }
};

// Words without line breaks, each in a line.
template <>
struct type_conversion<std::optional<std::set<std::string>>> {
  using base_type = std::string;
  static void from_base(const base_type& in, indicator ind,
                        std::optional<std::set<std::string>>& out) {
    out.reset();
    if (ind == i_null) return;
    out.emplace();
    for (size_t at = 0, end; (end = in.find('\n', at)) != std::string::npos; at = end + 1)
      out->insert(in.substr(at, end - at));
  }
  static void to_base(const std::optional<std::set<std::string>>& in, base_type& out,
                      indicator& ind) {
    out.clear();
    if (in.has_value()) {
      for (const std::string& word : *in) out += word + "\n";
    }
    ind = in.has_value() ? i_ok : i_null;
  }
};

template <>
struct type_conversion<bool> {
  using base_type = long long;
  static void from_base(base_type in, indicator, bool& out) { out = in != 0; }
  static void to_base(bool in, base_type& out, indicator& ind) {
    out = in ? 1 : 0;
    ind = i_ok;
  }
};

template <typename T>
struct type_conversion<T, std::enable_if_t<std::is_enum_v<T>>> {
  using base_type = long long;
  static void from_base(base_type in, indicator, T& out) { out = static_cast<T>(in); }
  static void to_base(T in, base_type& out, indicator& ind) {
    out = static_cast<base_type>(in);
    ind = i_ok;
  }
};

}  // namespace soci

namespace muster::controller {

// Runs `statement`, which fills `row`; true when there was a row.
inline bool ReadOne(soci::statement& statement) { return statement.execute(true); }

// Runs `statement`, which fills `row` again for each row.
template <typename Row>
std::vector<Row> ReadAll(soci::statement& statement, const Row& row) {
  std::vector<Row> rows;
  statement.execute(false);
  while (statement.fetch()) rows.push_back(row);
  return rows;
}

}  // namespace muster::controller
