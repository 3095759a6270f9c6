#include "controller/inventory/boot_choice.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/text/disk_name.h"
#include "controller/inventory/inventory.h"

namespace muster::controller {
namespace {

constexpr char kBoot[] = "boot";
constexpr char kRescueImage[] = "boot_rescue_image";
constexpr char kBootDisk[] = "boot_disk";
constexpr char kBootUnknown[] = "boot_unknown";
constexpr char kBootPeers[] = "boot_peers";
constexpr char kBootSigned[] = "boot_signed";
constexpr char kEnroll[] = "enroll";
constexpr char kUsualRescueImage[] = "debian-rescue";
constexpr absl::string_view kDiskWord = "disk";
constexpr absl::string_view kRescueWord = "rescue";
constexpr size_t kMaxImageName = 64;
constexpr size_t kFewestDigits = 8;
constexpr size_t kMostDigits = 64;

// The rules of common/image, without its files.
bool IsImageReference(absl::string_view text) {
  const size_t at = text.find('@');
  const absl::string_view name = text.substr(0, at);
  const bool is_name = !name.empty() && name.size() <= kMaxImageName &&
                       absl::ascii_isalnum(static_cast<unsigned char>(name.front())) &&
                       std::all_of(name.begin(), name.end(), [](unsigned char c) {
                         return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
                       });
  if (!is_name || at == absl::string_view::npos) return is_name;
  const absl::string_view digits = text.substr(at + 1);
  return digits.size() >= kFewestDigits && digits.size() <= kMostDigits &&
         std::all_of(digits.begin(), digits.end(), [](unsigned char c) {
           return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f');
         });
}

// nullopt: the value says neither.
std::optional<SignedChoice> ReadSignedChoice(const nlohmann::ordered_json& value) {
  if (value.is_boolean()) return SignedChoice{.is_signed = value.get<bool>(), .enrolls = false};
  if (value == kEnroll) return SignedChoice{.is_signed = true, .enrolls = true};
  return std::nullopt;
}

}  // namespace

std::string BootChoice::ToString() const {
  if (kind == Kind::kImage) return image;
  return std::string(kind == Kind::kDisk ? kDiskWord : kRescueWord);
}

std::optional<BootChoice> ParseBootChoice(absl::string_view text) {
  if (text == kDiskWord) return BootChoice{BootChoice::Kind::kDisk, ""};
  if (text == kRescueWord) return BootChoice{BootChoice::Kind::kRescue, ""};
  if (!IsImageReference(text)) return std::nullopt;
  return BootChoice{BootChoice::Kind::kImage, std::string(text)};
}

std::string CheckBootVariable(absl::string_view name, const nlohmann::ordered_json& value) {
  if (name == kBootDisk) {
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    return text == kBlankDisk || !CheckDiskName(text).empty()
               ? "boot_disk must be serial: or uuid: and the number of the disk, as "
                 "serial:S4EVNX0M"
               : "";
  }
  if (name == kBootPeers) return value.is_boolean() ? "" : "boot_peers must be true or false";
  if (name == kBootSigned)
    return ReadSignedChoice(value).has_value() ? "" : "boot_signed must be true, false or enroll";
  const bool is_boot = name == kBoot;
  if (!is_boot && name != kRescueImage && name != kBootUnknown) return "";
  const auto choice =
      value.is_string() ? ParseBootChoice(value.get<std::string>()) : std::optional<BootChoice>();
  if (choice.has_value() && (is_boot || choice->kind == BootChoice::Kind::kImage)) return "";
  if (is_boot)
    return "boot must be disk, rescue, or an image: NAME or NAME@ and 8 digits of its digest or "
           "more";
  return absl::StrCat(name, " must be an image: NAME or NAME@ and 8 digits of its digest or more");
}

std::string CheckVariableOfNodes(absl::string_view name) {
  if (name != kBootUnknown) return "";
  return "boot_unknown applies to machines that are not nodes: write it in the inventory's own "
         "`vars`";
}

BootDefault BootDefaultOf(const Inventory& inventory, const Node& node) {
  BootDefault found;
  found.rescue_image = kUsualRescueImage;
  for (const Variable& variable : VariablesOf(inventory, node)) {  // a later one wins
    if (variable.name == kBootPeers && variable.value->is_boolean())
      found.has_peers = variable.value->get<bool>();
    if (variable.name == kBootSigned)
      found.signed_choice = ReadSignedChoice(*variable.value).value_or(SignedChoice());
    if (!variable.value->is_string()) continue;
    const std::string text = variable.value->get<std::string>();
    if (variable.name == kRescueImage) found.rescue_image = text;
    if (variable.name == kBootDisk && CheckDiskName(text).empty()) found.disk = text;
    if (variable.name != kBoot) continue;
    const std::optional<BootChoice> choice = ParseBootChoice(text);
    if (!choice.has_value()) continue;
    found.choice = *choice;
    found.is_written = true;
  }
  return found;
}

std::string BootOfUnknown(const Inventory& inventory) {
  std::string image;
  for (const Variable& variable : inventory.vars()) {
    if (variable.name == kBootUnknown && variable.value->is_string())
      image = variable.value->get<std::string>();
  }
  return image;
}

SignedChoice SignedChoiceOfUnknown(const Inventory& inventory) {
  SignedChoice choice;
  for (const Variable& variable : inventory.vars()) {
    if (variable.name == kBootSigned)
      choice = ReadSignedChoice(*variable.value).value_or(SignedChoice());
  }
  return choice;
}

}  // namespace muster::controller
