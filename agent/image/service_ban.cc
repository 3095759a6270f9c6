#include "agent/image/service_ban.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace muster::agent {
namespace {

// 101: the action is not allowed. An error, or another answer, would let it happen.
constexpr char kRefuseAll[] =
    "#!/bin/sh\n"
    "# Written by Muster while it builds an image: no package starts a service.\n"
    "exit 101\n";

}  // namespace

absl::Status ServiceBan::Begin() {
  ASSIGN_OR_RETURN(before_, files_.View(kPolicyProgram));
  if (before_.has_value() && before_->stat.type == sys::FileType::kDirectory)
    return absl::FailedPreconditionError(
        absl::StrCat(kPolicyProgram, " is a folder in the root; remove it"));
  // What a run that was killed has left is nobody's.
  if (before_.has_value() && before_->content == kRefuseAll) before_.reset();
  return files_.WriteAtomically(kPolicyProgram, kRefuseAll, {.mode = 0755, .uid = 0, .gid = 0});
}

absl::Status ServiceBan::End() {
  ASSIGN_OR_RETURN(const std::optional<sys::FileView> now, files_.View(kPolicyProgram));
  if (now.has_value() && now->content != kRefuseAll) return absl::OkStatus();
  if (!before_.has_value()) return files_.Remove(kPolicyProgram, /*recursive=*/false);
  if (before_->stat.type == sys::FileType::kSymlink)
    return files_.MakeSymlink(before_->content, kPolicyProgram);
  return files_.WriteAtomically(
      kPolicyProgram, before_->content,
      {.mode = before_->stat.mode, .uid = before_->stat.uid, .gid = before_->stat.gid});
}

}  // namespace muster::agent
