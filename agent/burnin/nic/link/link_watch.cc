#include "agent/burnin/nic/link/link_watch.h"

#include "absl/strings/str_cat.h"
#include "agent/burnin/nic/link/ethtool.h"
#include "common/base/text/counted.h"

namespace muster::burnin {

LinkWatch::LinkWatch(sys::FileSystem& files, absl::string_view address) : files_(files) {
  if (const std::string name = InterfaceOfAddress(address); !name.empty())
    if (absl::StatusOr<LinkState> state = ReadLinkState(files, name); state.ok())
      before_ = WithDamagedFrames(*std::move(state));
}

absl::Status LinkWatch::Look() {
  if (interface().empty()) return absl::OkStatus();
  const bool down = IsLinkDown(files_, interface());
  if (down && !was_down_) down_since_ = Monotonic::now();
  was_down_ = down;
  if (down && SecondsBetween(down_since_, Monotonic::now()) >= absl::ToDoubleSeconds(kPatience))
    return absl::FailedPreconditionError(absl::StrCat("the link of ", interface(), " is down"));
  return absl::OkStatus();
}

void LinkWatch::Report(CheckResult& result) {
  if (interface().empty()) return;
  result.subjects.push_back(NicSubject(before_.state));
  const absl::StatusOr<LinkState> now = ReadLinkState(files_, interface());
  if (!now.ok() || IsLinkDown(files_, interface())) {
    AddFault(result, "link_down", interface(),
             absl::StrCat("the link of ", interface(), " went down during the test"));
    return;
  }
  const int64_t changes =
      now->carrier_changes.value_or(0) - before_.state.carrier_changes.value_or(0);
  if (changes > 0)
    AddFault(result, "link_flapped", interface(),
             absl::StrCat("the carrier of ", interface(), " changed ", Counted(changes, "time"),
                          " during the test"));
  JudgeCounters(before_, WithDamagedFrames(*now), result);
}

}  // namespace muster::burnin
