#include "controller/timeline/kinds.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "common/base/text/nearest_word.h"

namespace muster::controller::timeline {
namespace {

using enum Concerns;

constexpr Kind kKinds[] = {
    {"backup.restore", kNone, false, "the store was restored from a backup"},
    {"boot.clear", kSubject, false, "nodes boot what the inventory says again"},
    {"boot.denied", kSubject, false, "a node's firmware does not start what it was to boot"},
    {"boot.enrolled", kSubject, false, "a node's firmware has taken the cluster's keys"},
    {"boot.fallen_back", kSubject, false,
     "a node did not come up with the image on its disk and runs the one before"},
    {"boot.healthy", kSubject, false, "a node came up with the image on its disk, which stays"},
    {"boot.initrd", kSubject, false, "a node was sent its initramfs"},
    {"boot.kernel", kSubject, false, "a node was sent its kernel"},
    {"boot.no_image", kSubject, false, "the controller does not have what a node is to boot"},
    {"boot.no_memory", kSubject, false,
     "a node has too little memory for the root that it was to boot"},
    {"boot.not_written", kSubject, false, "a node did not write the image to its disk"},
    {"boot.refused", kSubject, false, "a node's root does not have its digest and was not booted"},
    {"boot.root", kSubject, false, "a node was sent its root"},
    {"boot.script", kSubject, false, "a node has asked what to boot"},
    {"boot.set", kSubject, false, "a person decided what nodes boot"},
    {"boot.switched", kSubject, false, "a node's initramfs hands over to the root"},
    {"boot.verified", kSubject, false, "a node's root has its digest"},
    {"boot.written", kSubject, false, "a node's disk holds the image"},
    {"ca.change", kNone, false, "another authority signs, or the trusted roots have changed"},
    {"condition.bad", kSubject, false, "a condition of a node became bad"},
    {"condition.good", kSubject, false, "a condition of a node is good again"},
    {"condition.unknown", kSubject, false, "a condition of a node can no longer be told"},
    {"controller.update", kNone, false, "musterd was exchanged for another version"},
    {"controller.update_failed", kNone, false,
     "another version of musterd did not come up; the one of before is back with its store"},
    {"exec.end", kSubject, true, "a command of an administrator has ended"},
    {"exec.start", kSubject, true, "a command of an administrator has begun"},
    {"health.breaker_close", kNone, false, "nodes of a group are drained for their health again"},
    {"health.breaker_open", kNone, false,
     "too many nodes of a group were bad at once, so no more are drained"},
    {"health.clear", kSubject, false, "a person ended a condition whose cause is gone"},
    {"health.drain", kSubject, false, "a condition took nodes out of Slurm"},
    {"health.quarantine", kSubject, false,
     "a condition took nodes out until an administrator acts"},
    {"health.reboot", kSubject, false, "the health policy began to reboot a node"},
    {"health.reboot_failed", kSubject, false, "a reboot did not help a node"},
    {"health.resume", kSubject, false, "a condition let nodes return to Slurm"},
    {"image.delete", kNone, false, "an image was deleted"},
    {"image.keep", kNone, false, "an image was uploaded"},
    {"image.pin", kNone, false, "a build was chosen as the one that an image's name means"},
    {"image.sign", kNone, false, "an image was signed for Secure Boot"},
    {"image.unpin", kNone, false, "an image's name means its newest build again"},
    {"inventory.apply", kNone, false, "a new revision of the inventory is in force"},
    {"node.back", kSubject, false, "the agent of a lost node answers again"},
    {"node.clone", kSubject, true, "a second machine has shown the certificate of the node"},
    {"node.cut_off", kSubject, true, "the agent broke the rules of its session and was cut off"},
    {"node.distrust", kSubject, true,
     "a machine in a trusted network waits for approval all the same"},
    {"node.drain", kSubject, false, "a person drained nodes"},
    {"node.enroll", kSubject, true, "a machine has joined"},
    {"node.facts_refused", kSubject, false, "the agent reported facts that no machine can have"},
    {"node.key_copied", kSubject, true, "the key of the node is in use at another place"},
    {"node.lost", kSubject, false, "the agent of a node has not answered for 15 seconds"},
    {"node.rebooted", kSubject, false, "a machine was booted, whoever wanted it"},
    {"node.remove", kSubject, false, "a node was removed from the cluster"},
    {"node.replace", kSubject, true, "another machine has taken the place of the node's machine"},
    {"node.resume", kSubject, false, "a person let nodes return to Slurm"},
    {"node.trust", kSubject, true, "a machine counts as the node by its MAC address"},
    {"node.wait", kSubject, true, "a machine waits for approval"},
    {"reboot.permit", kSubject, false, "a run may reboot a node"},
    {"reboot.refuse", kSubject, false, "a run may not reboot a node"},
    {"rollout.abort", kWork, false, "an update was aborted"},
    {"rollout.complete", kWork, false, "an update has updated all of its nodes"},
    {"rollout.continue", kWork, false, "an update begins with its next wave"},
    {"rollout.create", kWork, false, "an update began"},
    {"rollout.end", kWork, false, "the last node of an aborted update is done"},
    {"rollout.pause", kWork, false, "an update is paused"},
    {"rollout.requeue", kWork, false, "an update sent jobs back to the queue"},
    {"rollout.resume", kWork, false, "a paused update continues"},
    {"rollout.rollback", kWork, false, "an update is rolled back"},
    {"rollout.soak", kWork, false, "a wave of an update is done and is watched for a while"},
    {"run.cancel", kWork, false, "a run was cancelled"},
    {"run.catch_up_refused", kWork, false, "nodes that missed a run may not catch up"},
    {"run.create", kWork, false, "a run began"},
    {"run.finish", kWork, false, "a run has ended"},
    {"silence.create", kSubject, false, "conditions were silenced"},
    {"silence.delete", kSubject, false, "a silence was ended before its time"},
    {"slurm.drain", kSubject, false, "Slurm was told to give nodes no more jobs"},
    {"slurm.keep", kSubject, false,
     "a restored controller keeps nodes out that Slurm still had drained for Muster"},
    {"slurm.resume", kSubject, false, "Slurm was told to give nodes jobs again"},
    {"snapshot.create", kNone, false, "a snapshot of repositories was made"},
    {"snapshot.remove", kNone, false, "a snapshot of repositories was removed"},
    {"validation.cancel", kWork, false, "a validation was cancelled"},
    {"validation.create", kWork, false, "a validation began"},
    {"validation.finish", kWork, false, "a validation has ended"},
    {"validation.not_started", kWork, false,
     "a run could not begin the validation that it ends with"},
};

absl::string_view FamilyOf(absl::string_view kind) { return kind.substr(0, kind.find('.')); }

bool Takes(absl::string_view word, absl::string_view kind) {
  return word == kind || word == FamilyOf(kind);
}

}  // namespace

absl::Span<const Kind> Kinds() { return kKinds; }

const Kind* FindKind(absl::string_view name) {
  const auto row = std::lower_bound(
      std::begin(kKinds), std::end(kKinds), name,
      [](const Kind& kind, absl::string_view wanted) { return kind.name < wanted; });
  return row != std::end(kKinds) && row->name == name ? row : nullptr;
}

bool TakesKind(const std::vector<std::string>& words, absl::string_view kind) {
  return words.empty() || std::any_of(words.begin(), words.end(),
                                      [&](const std::string& word) { return Takes(word, kind); });
}

absl::Status CheckKinds(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const bool is_known = std::any_of(std::begin(kKinds), std::end(kKinds),
                                      [&](const Kind& kind) { return Takes(word, kind.name); });
    if (is_known) continue;
    std::vector<std::string> known;
    for (const Kind& kind : kKinds) {
      known.emplace_back(kind.name);
      known.emplace_back(FamilyOf(kind.name));
    }
    return absl::InvalidArgumentError(absl::StrCat("kinds: unknown kind '", word, "'",
                                                   DidYouMean(word, known),
                                                   "; `muster help events` lists them"));
  }
  return absl::OkStatus();
}

}  // namespace muster::controller::timeline
