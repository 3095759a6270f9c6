#include "common/image/disk_section.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/base/text/disk_name.h"
#include "common/base/text/plain_text.h"
#include "common/yaml/map_reader.h"

namespace muster::image {
namespace {

constexpr size_t kShownText = 80;
constexpr char kRest[] = "rest";
constexpr int64_t kMostMib = int64_t{1} << 30;  // a PiB

// A size and the least that is of use.
struct SizeRule {
  const char* key;
  int64_t least;
  bool may_be_rest;
};
// A kernel and an initramfs with all drivers take some 60 MiB, and there are two of each.
constexpr SizeRule kEsp{"esp_mib", 256, false};
constexpr SizeRule kRoot{"root_mib", 256, false};
constexpr SizeRule kState{"state_mib", 512, true};
constexpr SizeRule kPartition{"mib", 64, true};

std::string Shown(absl::string_view text) { return PlainText(text, Lines::kOne, kShownText); }

absl::Status ReadSize(const yaml::Document& document, yaml::MapReader& reader, const SizeRule& rule,
                      int64_t& mib) {
  const yaml::Node* const node = reader.Take(rule.key);
  if (node == nullptr) return absl::OkStatus();
  std::string text;
  RETURN_IF_ERROR(yaml::Read(document, *node, &text));
  if (rule.may_be_rest && text == kRest) {
    mib = 0;
    return absl::OkStatus();
  }
  int64_t value = 0;
  if (!absl::SimpleAtoi(text, &value) || value < rule.least || value > kMostMib)
    return document.Error(
        *node, absl::StrCat(rule.key, " '", Shown(text), "' is not a size in MiB, at least ",
                            rule.least, rule.may_be_rest ? ", or rest: all that is left" : ""));
  mib = value;
  return absl::OkStatus();
}

bool IsPartitionName(absl::string_view text) {
  // The label of XFS has room for 12 bytes.
  return !text.empty() && text.size() <= 12 && absl::ascii_isalpha(text[0]) &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '_';
         });
}

absl::Status ReadPartition(const yaml::Document& document, const yaml::Node& node,
                           std::set<std::string>& names, DiskPartition& out) {
  yaml::MapReader reader(document, node, "partition");
  RETURN_IF_ERROR(reader.Required("name", &out.name));
  if (!IsPartitionName(out.name))
    return document.Error(*node.Find("name"),
                          absl::StrCat("'", Shown(out.name),
                                       "' is not a name of a partition: lower-case letters, digits "
                                       "and '_', at most 12"));
  if (!names.insert(out.name).second)
    return document.Error(*node.Find("name"),
                          absl::StrCat("'", out.name, "' is the name of another partition"));
  RETURN_IF_ERROR(reader.Required("file_system", &out.file_system));
  if (out.file_system != "ext4" && out.file_system != "xfs")
    return document.Error(
        *node.Find("file_system"),
        absl::StrCat("'", Shown(out.file_system), "' is not a file system: write ext4 or xfs"));
  if (node.Find("mib") == nullptr)
    return document.Error(node, "mib is missing: a size in MiB, or rest: all that is left");
  RETURN_IF_ERROR(ReadSize(document, reader, kPartition, out.mib));
  return reader.Finish();
}

}  // namespace

absl::Status ReadDiskSection(const yaml::Document& document, const yaml::Node& node,
                             DiskSection& disk) {
  yaml::MapReader reader(document, node, "disk");
  RETURN_IF_ERROR(reader.Optional("device", &disk.device));
  if (std::string fault = CheckDiskName(disk.device); !fault.empty())
    return document.Error(*node.Find("device"), fault);
  RETURN_IF_ERROR(ReadSize(document, reader, kEsp, disk.esp_mib));
  RETURN_IF_ERROR(ReadSize(document, reader, kRoot, disk.root_mib));
  RETURN_IF_ERROR(ReadSize(document, reader, kState, disk.state_mib));
  const yaml::Node* const list = reader.Take("partitions");
  if (list != nullptr && !list->IsNull()) {
    if (!list->IsSequence())
      return document.Error(*list, "'partitions' is not a list of partitions");
    std::set<std::string> names = {"esp", "root_a", "root_b", "state"};
    for (const yaml::Node& item : list->items())
      RETURN_IF_ERROR(ReadPartition(document, item, names, disk.partitions.emplace_back()));
  }
  RETURN_IF_ERROR(reader.Finish());
  // What takes the rest leaves nothing for what follows it.
  const bool state_is_last = disk.partitions.empty();
  if (disk.state_mib == 0 && !state_is_last)
    return document.Error(*node.Find("state_mib"),
                          "only the last partition can have the rest; give this one a size");
  for (size_t i = 0; i + 1 < disk.partitions.size(); ++i) {
    if (disk.partitions[i].mib == 0)
      return document.Error(list->items()[i],
                            "only the last partition can have the rest; give this one a size");
  }
  return absl::OkStatus();
}

}  // namespace muster::image
