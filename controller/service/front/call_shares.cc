#include "controller/service/front/call_shares.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"

namespace muster::controller {
namespace {

struct ShareRow {
  CallKind kind;
  size_t most;
  absl::string_view what;  // what the person has too many of
  absl::string_view remedy;
};
constexpr ShareRow kShares[] = {
    // The command line makes one call after another; this limit is for a script that runs many of
    // them. Eight such persons take all of musterd's threads for people.
    {CallKind::kQuick, 16, "calls", "run fewer commands at once"},
    // Each computes for up to some seconds: two keep two processors busy.
    {CallKind::kHeavy, 2, "calls that compile or pack large data", "run them one after the other"},
    // They hold no thread, but cost memory, and time for each event. As many as a person has
    // terminals.
    {CallKind::kWatch, 16, "watches of runs and validations",
     "end some of them (Ctrl-C; what is watched continues)"},
    // Each holds a thread for as long as the peer likes.
    {CallKind::kTransfer, 4, "transfers of bundles, images and results",
     "run them one after the other"},
};

struct KindRow {
  absl::string_view rpc;
  CallKind kind;
};
constexpr KindRow kKindRows[] = {
    // These unpack whole bundles.
    {"/muster.v1.ArtifactService/ApproveBundle", CallKind::kHeavy},
    {"/muster.v1.ArtifactService/GetBundle", CallKind::kHeavy},
    {"/muster.v1.RunService/PreviewRun", CallKind::kHeavy},
    {"/muster.v1.ValidationService/CreateValidation", CallKind::kHeavy},

    {"/muster.v1.ArtifactService/UploadBundle", CallKind::kTransfer},
    // Holds the output of many nodes.
    {"/muster.v1.CommandService/RunCommand", CallKind::kTransfer},
    {"/muster.v1.DriftService/CompareNodes",
     CallKind::kHeavy},  // reads the facts of all nodes, and may ask some
    {"/muster.v1.EventService/VerifyEvents", CallKind::kHeavy},  // reads all of the audit log
    {"/muster.v1.ExplainService/ExplainStep", CallKind::kHeavy},
    {"/muster.v1.ExplainService/ExplainVariable", CallKind::kHeavy},
    {"/muster.v1.HardwareService/LearnHardware", CallKind::kHeavy},
    {"/muster.v1.ImageService/PlanImage", CallKind::kHeavy},
    {"/muster.v1.ImageService/ReadAgentPackage", CallKind::kTransfer},
    // Gigabytes; whoever verifies an image waits for the controller's disk.
    {"/muster.v1.ImageService/ReadArtifact", CallKind::kTransfer},
    {"/muster.v1.ImageService/UploadArtifact", CallKind::kTransfer},
    {"/muster.v1.ImageService/VerifyImage", CallKind::kHeavy},
    {"/muster.v1.InventoryService/ApplyInventory", CallKind::kHeavy},
    {"/muster.v1.InventoryService/CheckInventory", CallKind::kHeavy},
    {"/muster.v1.InventoryService/DiffInventory", CallKind::kHeavy},
    {"/muster.v1.InventoryService/GetInventory", CallKind::kHeavy},
    {"/muster.v1.PowerService/ChangePower", CallKind::kWatch},
    {"/muster.v1.PowerService/ReadPower", CallKind::kWatch},
    {"/muster.v1.RolloutService/CreateRollout", CallKind::kHeavy},
    {"/muster.v1.RolloutService/PreviewRollout", CallKind::kHeavy},
    {"/muster.v1.RolloutService/WatchRollout", CallKind::kWatch},
    {"/muster.v1.RunService/WatchRun", CallKind::kWatch},
    {"/muster.v1.SecretService/RotateSecret", CallKind::kHeavy},  // compiles all plays
    // These read lists of tens of thousands of packages; a new snapshot takes minutes.
    {"/muster.v1.SnapshotService/CreateSnapshot", CallKind::kTransfer},
    {"/muster.v1.SnapshotService/DiffSnapshots", CallKind::kHeavy},
    {"/muster.v1.SnapshotService/GetSnapshot", CallKind::kHeavy},
    {"/muster.v1.SnapshotService/ListSnapshots", CallKind::kHeavy},
    {"/muster.v1.SnapshotService/RemoveSnapshot", CallKind::kHeavy},
    {"/muster.v1.StackService/CheckStacks", CallKind::kHeavy},
    {"/muster.v1.StackService/DiffStacks", CallKind::kHeavy},
    {"/muster.v1.TimelineService/WatchTimeline", CallKind::kWatch},
    {"/muster.v1.ValidationService/ListCheckResults", CallKind::kTransfer},
    {"/muster.v1.ValidationService/WatchValidation", CallKind::kWatch},
};

const ShareRow& RowOf(CallKind kind) {
  return *std::find_if(std::begin(kShares), std::end(kShares),
                       [&](const ShareRow& row) { return row.kind == kind; });
}

}  // namespace

CallKind KindOf(absl::string_view rpc) {
  const auto row = std::find_if(std::begin(kKindRows), std::end(kKindRows),
                                [&](const KindRow& each) { return each.rpc == rpc; });
  return row == std::end(kKindRows) ? CallKind::kQuick : row->kind;
}

size_t MostAtOnce(CallKind kind) { return RowOf(kind).most; }

CallShares::Share& CallShares::ShareOf(absl::string_view person, CallKind kind) {
  Share& share = shares_[person][static_cast<size_t>(kind)];
  const absl::Time oldest = clock_.Now() - kBeginWithin;
  while (!share.admitted.empty() && share.admitted.front() < oldest) share.admitted.pop_front();
  const absl::Time slow = clock_.Now() - kAnswersWithin;
  while (!share.answering.empty() && share.answering.front() < slow) share.answering.pop_front();
  return share;
}

void CallShares::Forget(absl::string_view person) {
  const auto found = shares_.find(person);
  const bool has_calls =
      std::any_of(found->second.begin(), found->second.end(),
                  [](const Share& share) { return share.begun > 0 || !share.admitted.empty(); });
  if (!has_calls) shares_.erase(found);
}

absl::Status CallShares::CheckOpen() const {
  if (!is_shut_.load()) return absl::OkStatus();
  return absl::UnavailableError(
      "this musterd takes no calls while it is being exchanged; try again in a minute");
}

absl::Status CallShares::Admit(absl::string_view person, CallKind kind) {
  absl::MutexLock lock(&mutex_);
  Share& share = ShareOf(person, kind);
  const ShareRow& row = RowOf(kind);
  const size_t leaving = std::min(share.answering.size(), row.most);
  if (share.begun + share.admitted.size() < row.most + leaving) {
    share.admitted.push_back(clock_.Now());
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(
      absl::StrCat(person, " has ", row.most, " ", row.what,
                   " in progress, the maximum for one person: ", row.remedy, ", and try again"));
}

void CallShares::Begin(absl::string_view person, CallKind kind) {
  absl::MutexLock lock(&mutex_);
  Share& share = ShareOf(person, kind);
  if (!share.admitted.empty()) share.admitted.pop_front();
  ++share.begun;
}

void CallShares::Answer(absl::string_view person, CallKind kind) {
  absl::MutexLock lock(&mutex_);
  ShareOf(person, kind).answering.push_back(clock_.Now());
}

void CallShares::End(absl::string_view person, CallKind kind) {
  absl::MutexLock lock(&mutex_);
  Share& share = ShareOf(person, kind);
  --share.begun;
  if (!share.answering.empty()) share.answering.pop_front();
  Forget(person);
}

size_t CallShares::CountOf(absl::string_view person, CallKind kind) {
  absl::MutexLock lock(&mutex_);
  const Share& share = ShareOf(person, kind);
  const size_t count = share.begun + share.admitted.size();
  Forget(person);
  return count;
}

}  // namespace muster::controller
