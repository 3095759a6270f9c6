#include "controller/slurm/command_slurm_control.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status.h"
#include "common/sys/process.h"
#include "controller/slurm/node_listing.h"

namespace muster::controller::slurm {
namespace {

constexpr absl::string_view kOwnPrefix = "muster:";
constexpr absl::Duration kTimeout = absl::Seconds(30);
// Some 1.5 kB for each of ten thousand nodes.
constexpr size_t kMaxListing = size_t{32} << 20;
constexpr size_t kMaxJobs = size_t{1} << 20;
// slurmctld keeps it for as long as the node is drained.
constexpr size_t kMaxReason = 200;

bool IsNodeName(absl::string_view name) {
  if (name.empty() || name.size() > 255) return false;
  for (const char c : name) {
    if (!absl::ascii_isalnum(c) && c != '-' && c != '.' && c != '_') return false;
  }
  return true;
}

absl::Status CheckName(absl::string_view name) {
  if (IsNodeName(name)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("'", name, "' is no name of a node"));
}

}  // namespace

std::string OwnReason(absl::string_view owner_id, absl::string_view text) {
  std::string reason = absl::StrCat(kOwnPrefix, owner_id, " ", text);
  for (char& c : reason) {
    if (absl::ascii_iscntrl(c)) c = ' ';
  }
  if (reason.size() > kMaxReason) {
    reason.resize(kMaxReason);
    // Not in the middle of a character.
    while (!reason.empty() && (static_cast<unsigned char>(reason.back()) & 0x80) != 0) {
      reason.pop_back();
    }
  }
  return reason;
}

std::optional<std::string> OwnerOf(absl::string_view reason) {
  if (!absl::ConsumePrefix(&reason, kOwnPrefix)) return std::nullopt;
  const absl::string_view owner = reason.substr(0, reason.find(' '));
  if (owner.empty()) return std::nullopt;
  return std::string(owner);
}

absl::StatusOr<std::string> CommandSlurmControl::Run(std::vector<std::string> argv,
                                                     size_t max_output) {
  sys::ProcessSpec spec;
  spec.argv = prefix_;
  spec.argv.insert(spec.argv.end(), argv.begin(), argv.end());
  spec.timeout = kTimeout;
  spec.max_output = max_output;
  ASSIGN_OR_RETURN(sys::ProcessResult result, processes_.Run(spec));
  if (!result.ok()) {
    const absl::Status why = sys::CheckSuccess(spec, result);
    return absl::UnavailableError(absl::StrCat("Slurm does not answer: ", why.message()));
  }
  return std::move(result.out);
}

absl::StatusOr<std::vector<SlurmNode>> CommandSlurmControl::Nodes() {
  ASSIGN_OR_RETURN(const std::string text,
                   Run({"scontrol", "--oneliner", "show", "node"}, kMaxListing));
  return ParseNodes(text);
}

absl::Status CommandSlurmControl::Drain(const std::string& node, const std::string& reason) {
  RETURN_IF_ERROR(CheckName(node));
  return Run({"scontrol", "update", absl::StrCat("NodeName=", node), "State=DRAIN",
              absl::StrCat("Reason=", reason)},
             4096)
      .status();
}

absl::Status CommandSlurmControl::Resume(const std::string& node) {
  RETURN_IF_ERROR(CheckName(node));
  return Run({"scontrol", "update", absl::StrCat("NodeName=", node), "State=RESUME"}, 4096)
      .status();
}

absl::StatusOr<std::vector<std::string>> CommandSlurmControl::JobsOn(const std::string& node) {
  RETURN_IF_ERROR(CheckName(node));
  ASSIGN_OR_RETURN(
      const std::string text,
      Run({"squeue", "--noheader", absl::StrCat("--nodelist=", node), "--format=%i"}, kMaxJobs));
  std::vector<std::string> jobs;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const absl::string_view id = absl::StripAsciiWhitespace(line);
    if (!id.empty()) jobs.emplace_back(id);
  }
  return jobs;
}

}  // namespace muster::controller::slurm
