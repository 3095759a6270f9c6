#include "agent/discovery/discovery.h"

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/facts/gather.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"
#include "common/sys/http/http_client.h"
#include "muster/v1/facts.pb.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxAnswer = 4096;
constexpr absl::Duration kPatience = absl::Seconds(20);
constexpr absl::string_view kAdopted = "adopted";

// The controller refuses 32 KiB.
constexpr size_t kMostBytes = 30'000;

// What the controller needs to tell machines apart. Of very many disks and ports, as of disk
// enclosures that are reached over several paths, the first are enough.
v1::Facts FactsOfMachine(v1::Facts facts) {
  facts.clear_unknown();
  facts.clear_mounts();
  facts.clear_ssh_host_keys();
  facts.clear_slurm();
  facts.clear_cgroup();
  facts.clear_packages();
  while (facts.ByteSizeLong() > kMostBytes && facts.disks_size() + facts.nics_size() > 0) {
    if (facts.disks_size() > facts.nics_size()) {
      facts.mutable_disks()->RemoveLast();
    } else {
      facts.mutable_nics()->RemoveLast();
    }
  }
  return facts;
}

}  // namespace

Discovery::Discovery(Means means, std::string url)
    : means_(std::move(means)), url_(std::move(url)) {}

absl::StatusOr<bool> Discovery::Tell() {
  RETURN_IF_ERROR(
      means_.http.Fetch({.url = url_,
                         .path = means_.scratch,
                         .body = FactsOfMachine(means_.facts.Gather()).SerializeAsString(),
                         .max_bytes = kMaxAnswer,
                         .timeout = kPatience}));
  ASSIGN_OR_RETURN(const std::string answer, means_.files.Read(means_.scratch, kMaxAnswer));
  return absl::StartsWith(answer, kAdopted);
}

void Discovery::UntilAdopted() {
  std::optional<std::string> last_trouble;
  for (;;) {
    const absl::StatusOr<bool> is_adopted = Tell();
    if (is_adopted.ok() && *is_adopted) return;
    const std::string trouble(is_adopted.status().message());
    if (trouble != last_trouble)
      means_.say(trouble.empty() ? "this machine is not in the inventory and waits to be adopted: "
                                   "`muster node discover list` shows it"
                                 : trouble);
    last_trouble = trouble;
    means_.clock.Sleep(kInterval);
  }
}

}  // namespace muster::agent
