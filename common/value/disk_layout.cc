#include "common/value/disk_layout.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/text/disk_name.h"
#include "common/base/text/plain_text.h"
#include "muster/v1/image.pb.h"

namespace muster {
namespace {

constexpr uint64_t kMostMib = uint64_t{1} << 30;  // sums do not overflow
constexpr int kMostPartitions = 16;
constexpr size_t kMostName = 12;

absl::Status WrongField(absl::string_view field, absl::string_view rule) {
  return absl::InvalidArgumentError(absl::StrCat("the image's disk: ", field, " must be ", rule));
}

bool IsPartitionName(absl::string_view text) {
  return !text.empty() && text.size() <= kMostName &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '_';
         });
}

}  // namespace

absl::Status CheckDiskLayout(const v1::DiskLayout& layout) {
  if (!CheckDiskName(layout.device()).empty())
    return WrongField("device", "blank, serial:… or uuid:…");
  for (const uint64_t mib : {layout.esp_mib(), layout.root_mib()}) {
    if (mib == 0 || mib > kMostMib)
      return WrongField("esp_mib and root_mib", absl::StrCat("from 1 to ", kMostMib));
  }
  const int count = layout.partitions_size();
  if (count > kMostPartitions)
    return WrongField("partitions", absl::StrCat("at most ", kMostPartitions));
  if (layout.state_mib() > kMostMib || (layout.state_mib() == 0 && count > 0))
    return WrongField(
        "state_mib", absl::StrCat("at most ", kMostMib, ", and 0 only where no partition follows"));
  std::set<std::string> names = {kEspPartition, kRootAPartition, kRootBPartition, kStatePartition};
  for (int i = 0; i < count; ++i) {
    const v1::DiskPartition& partition = layout.partitions(i);
    const std::string at = absl::StrCat("partitions[", i, "]");
    if (!IsPartitionName(partition.name()) ||
        !names.insert(absl::StrCat(kPartitionPrefix, partition.name())).second)
      return WrongField(at + ".name", "lower-case letters, digits and '_', each name once");
    if (partition.file_system() != "ext4" && partition.file_system() != "xfs")
      return WrongField(at + ".file_system", "ext4 or xfs");
    if (partition.mib() > kMostMib || (partition.mib() == 0 && i + 1 < count))
      return WrongField(at + ".mib",
                        absl::StrCat("at most ", kMostMib, ", and 0 only of the last one"));
  }
  return absl::OkStatus();
}

}  // namespace muster
