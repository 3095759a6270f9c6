#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "controller/slurm/slurm_control.h"

namespace muster::controller::slurm {
namespace {

constexpr absl::string_view kOwnPrefix = "muster:";
// slurmctld keeps it as long as the node is drained.
constexpr size_t kMaxReason = 200;

}  // namespace

std::string OwnReason(absl::string_view owner_id, absl::string_view text) {
  std::string reason = absl::StrCat(kOwnPrefix, owner_id, " ", text);
  for (char& c : reason) {
    if (absl::ascii_iscntrl(c) || c == '"' || c == '\'') c = ' ';
  }
  if (reason.size() > kMaxReason) {
    reason.resize(kMaxReason);
    // Not in the middle of a character.
    while (!reason.empty() && (static_cast<unsigned char>(reason.back()) & 0x80) != 0) {
      reason.pop_back();
    }
  }
  // Slurm's listing is read without them: the node would seem to have another reason.
  absl::StripTrailingAsciiWhitespace(&reason);
  return reason;
}

std::optional<std::string> OwnerOf(absl::string_view reason) {
  absl::string_view rest = reason;
  if (!absl::ConsumePrefix(&rest, kOwnPrefix)) return std::nullopt;
  const absl::string_view owner = rest.substr(0, rest.find(' '));
  if (owner.empty() || owner.size() == rest.size()) return std::nullopt;
  // A reason that we would write differently is somebody else's.
  if (OwnReason(owner, rest.substr(owner.size() + 1)) != std::string(reason)) return std::nullopt;
  return std::string(owner);
}

}  // namespace muster::controller::slurm
