#include "common/yaml/value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>

#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

namespace muster::yaml {
namespace {

using nlohmann::ordered_json;

bool AllDigits(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c));
  });
}

std::optional<int64_t> ParseInteger(absl::string_view text) {
  int base = 10;
  absl::string_view digits = text;
  if (absl::ConsumePrefix(&digits, "0x")) {
    base = 16;
  } else if (absl::ConsumePrefix(&digits, "0o")) {
    base = 8;
  } else {
    absl::ConsumePrefix(&digits, "+");
    absl::string_view unsigned_digits = absl::StripPrefix(digits, "-");
    if (text[0] == '+' && unsigned_digits.size() != digits.size()) return std::nullopt;
    if (!AllDigits(unsigned_digits)) return std::nullopt;
    if (unsigned_digits.size() > 1 && unsigned_digits[0] == '0') return std::nullopt;
  }
  if (base != 10 && !digits.empty() && digits[0] == '-') return std::nullopt;
  int64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, value, base);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return value;
}

// [-+]? ( . digits | digits ( . digits? )? ) ( e [-+]? digits )?, with a point or an exponent.
std::optional<double> ParseFloat(absl::string_view text) {
  absl::string_view rest = text;
  if (!absl::ConsumePrefix(&rest, "-")) absl::ConsumePrefix(&rest, "+");
  const size_t exponent = rest.find_first_of("eE");
  absl::string_view mantissa = rest.substr(0, exponent);
  const size_t point = mantissa.find('.');
  if (point == absl::string_view::npos && exponent == absl::string_view::npos) return std::nullopt;
  const absl::string_view whole = mantissa.substr(0, point);
  const absl::string_view fraction =
      point == absl::string_view::npos ? absl::string_view() : mantissa.substr(point + 1);
  if (whole.empty() && fraction.empty()) return std::nullopt;
  if (!whole.empty() && !AllDigits(whole)) return std::nullopt;
  if (!fraction.empty() && !AllDigits(fraction)) return std::nullopt;
  if (whole.size() > 1 && whole[0] == '0') return std::nullopt;
  if (exponent != absl::string_view::npos) {
    absl::string_view digits = rest.substr(exponent + 1);
    if (!absl::ConsumePrefix(&digits, "-")) absl::ConsumePrefix(&digits, "+");
    if (!AllDigits(digits)) return std::nullopt;
  }
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace

ordered_json PlainValue(absl::string_view text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") {
    return nullptr;
  }
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  if (const std::optional<int64_t> integer = ParseInteger(text)) return *integer;
  if (const std::optional<double> number = ParseFloat(text)) return *number;
  return std::string(text);
}

ordered_json ToValue(const Node& node) {
  switch (node.kind()) {
    case Kind::kNull:
      return nullptr;
    case Kind::kScalar:
      return node.quoted() ? ordered_json(node.text()) : PlainValue(node.text());
    case Kind::kSequence: {
      ordered_json list = ordered_json::array();
      for (const Node& item : node.items()) list.push_back(ToValue(item));
      return list;
    }
    case Kind::kMap: {
      ordered_json map = ordered_json::object();
      // Keys are unique, and ordered_json searches all of its entries at each operator[].
      auto& entries = map.get_ref<ordered_json::object_t&>();
      entries.reserve(node.entries().size());
      for (const Entry& entry : node.entries()) {
        entries.Container::emplace_back(entry.key, ToValue(entry.value));
      }
      return map;
    }
  }
  return nullptr;
}

}  // namespace muster::yaml
