// Installed memory, in Slurm's unit.
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/facts/probe.h"
#include "agent/facts/sysfs.h"
#include "common/base/status.h"
#include "muster/v1/facts.pb.h"

namespace muster::agent {

absl::Status ProbeMemory(const ProbeContext& context, v1::Facts& facts) {
  const std::string path = context.root + "/proc/meminfo";
  ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  uint64_t total_kib = 0, swap_kib = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.size() < 2) continue;
    if (words[0] == "MemTotal:") (void)absl::SimpleAtoi(words[1], &total_kib);
    if (words[0] == "SwapTotal:") (void)absl::SimpleAtoi(words[1], &swap_kib);
  }
  if (total_kib == 0) return absl::DataLossError(absl::StrCat(path, " has no MemTotal"));
  facts.mutable_memory()->set_total_mib(total_kib / 1024);
  facts.mutable_memory()->set_swap_mib(swap_kib / 1024);
  return absl::OkStatus();
}

}  // namespace muster::agent
