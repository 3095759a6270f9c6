#include "controller/inventory/names.h"

#include <algorithm>
#include <string>
#include <vector>

#include <arpa/inet.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace muster::controller {
namespace {

constexpr size_t kMaxLabel = 63;
constexpr size_t kMaxHostName = 253;

bool AllOf(absl::string_view text, bool (*is_allowed)(unsigned char)) {
  return std::all_of(text.begin(), text.end(),
                     [is_allowed](char c) { return is_allowed(static_cast<unsigned char>(c)); });
}

bool IsLabelCharacter(unsigned char c) {
  return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-';
}
bool IsWordCharacter(unsigned char c) { return absl::ascii_isalnum(c) || c == '_'; }
bool IsNameCharacter(unsigned char c) { return IsWordCharacter(c) || c == '-'; }
bool IsIpv4Character(unsigned char c) { return absl::ascii_isdigit(c) || c == '.'; }

bool IsLabel(absl::string_view text) {
  return !text.empty() && text.size() <= kMaxLabel && AllOf(text, IsLabelCharacter) &&
         text.front() != '-' && text.back() != '-';
}

bool IsHostName(absl::string_view text) {
  if (text.size() > kMaxHostName) return false;
  const std::vector<absl::string_view> labels = absl::StrSplit(text, '.');
  return std::all_of(labels.begin(), labels.end(), IsLabel);
}

}  // namespace

std::string CheckDnsLabel(absl::string_view what, absl::string_view text) {
  if (IsLabel(text)) return "";
  return absl::StrCat("'", text, "' cannot be the name of a ", what,
                      ": use lower-case letters, digits and '-' inside, at most 63");
}

std::string CheckDomain(absl::string_view text) {
  if (IsHostName(text)) return "";
  return absl::StrCat("'", text, "' is not a domain: write labels joined by dots (hpc1.example)");
}

std::string CheckName(absl::string_view what, absl::string_view text) {
  if (!text.empty() && text.size() <= kMaxLabel && AllOf(text, IsNameCharacter) &&
      absl::ascii_isalnum(static_cast<unsigned char>(text.front()))) {
    return "";
  }
  return absl::StrCat("'", text, "' cannot be the name of a ", what,
                      ": use letters, digits, '-' and '_', at most 63");
}

std::string CheckVariableName(absl::string_view text) {
  if (!text.empty() && AllOf(text, IsWordCharacter) &&
      !absl::ascii_isdigit(static_cast<unsigned char>(text.front()))) {
    return "";
  }
  return absl::StrCat("'", text, "' cannot be the name of a variable: use letters, digits and '_'");
}

std::string CheckAddress(absl::string_view text) {
  const std::string address(text);
  unsigned char buffer[sizeof(in6_addr)];
  if (absl::StrContains(text, ':')) {
    if (inet_pton(AF_INET6, address.c_str(), buffer) == 1) return "";
    return absl::StrCat("'", text, "' is not an IPv6 address");
  }
  if (!text.empty() && AllOf(text, IsIpv4Character)) {
    if (inet_pton(AF_INET, address.c_str(), buffer) == 1) return "";
    return absl::StrCat("'", text,
                        "' is not an IPv4 address: four numbers up to 255, no leading 0");
  }
  if (IsHostName(text)) return "";
  return absl::StrCat("'", text, "' is neither an IP address nor a host name");
}

std::string CheckMac(absl::string_view text) {
  const std::vector<absl::string_view> bytes = absl::StrSplit(text, ':');
  const bool is_mac =
      bytes.size() == 6 && std::all_of(bytes.begin(), bytes.end(), [](absl::string_view byte) {
        return byte.size() == 2 &&
               AllOf(byte, [](unsigned char c) { return absl::ascii_isxdigit(c); });
      });
  if (is_mac) return "";
  return absl::StrCat("'", text, "' is not a MAC address: write six pairs like 0c:42:a1:00:12:3f");
}

std::string CheckPlaybookPath(absl::string_view text) {
  const bool is_yaml = absl::EndsWith(text, ".yaml") || absl::EndsWith(text, ".yml");
  if (is_yaml && !absl::StartsWith(text, "/") && !absl::StrContains(text, "..")) return "";
  return absl::StrCat("'", text,
                      "' is not a playbook in the site folder; write its path there, such as "
                      "playbooks/site.yaml");
}

std::string CheckSlurmTime(absl::string_view text) {
  const std::string wrong = absl::StrCat(
      "'", text,
      "' is not a time limit: write minutes, hours:minutes:seconds, days-hours:minutes:seconds or "
      "UNLIMITED");
  if (text == "UNLIMITED" || text == "INFINITE") return "";
  const std::vector<absl::string_view> days = absl::StrSplit(text, '-');
  const std::vector<absl::string_view> parts = absl::StrSplit(days.back(), ':');
  if (days.size() > 2 || parts.size() > 3) return wrong;
  std::vector<absl::string_view> numbers = parts;
  if (days.size() == 2) numbers.push_back(days.front());
  const bool all_numbers =
      std::all_of(numbers.begin(), numbers.end(), [](absl::string_view number) {
        return !number.empty() && number.size() <= 6 &&
               AllOf(number, [](unsigned char c) { return absl::ascii_isdigit(c); });
      });
  return all_numbers ? "" : wrong;
}

}  // namespace muster::controller
