#include "agent/burnin/nic/link/link_watch.h"

#include "absl/strings/str_cat.h"
#include "agent/burnin/nic/link/ethtool.h"
#include "common/base/text/counted.h"

namespace muster::burnin {

LinkWatch::LinkWatch(sys::FileSystem& files, absl::string_view address) : files_(files) {
  if (const std::string name = InterfaceOfAddress(address); !name.empty())
    if (absl::StatusOr<LinkState> state = ReadLinkState(files, name); state.ok())
      before_ = WithDamagedFrames(*std::move(state));
  for (const std::string& card : CardsBelow(files, interface())) {
    absl::StatusOr<LinkState> state = ReadLinkState(files, card);
    // The bond may have another one for this link.
    if (state.ok() && !IsLinkDown(files, card))
      cards_before_.push_back(WithDamagedFrames(*std::move(state)));
  }
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
  Report(before_, result);
  for (const LinkReading& card : cards_before_) {
    // Without its speed: nothing was measured over this card alone.
    result.subjects.push_back({.id = card.state.name,
                               .kind = "nic",
                               .model = card.state.driver,
                               .slot = card.state.pci_address,
                               .attributes = {{"mac", card.state.mac}, {"below", interface()}}});
    Report(card, result);
  }
}

void LinkWatch::Report(const LinkReading& before, CheckResult& result) {
  const std::string& name = before.state.name;
  const absl::StatusOr<LinkState> now = ReadLinkState(files_, name);
  if (!now.ok() || IsLinkDown(files_, name)) {
    AddFault(result, "link_down", name,
             absl::StrCat("the link of ", name, " went down during the test"));
    return;
  }
  const int64_t changes =
      now->carrier_changes.value_or(0) - before.state.carrier_changes.value_or(0);
  if (changes > 0)
    AddFault(result, "link_flapped", name,
             absl::StrCat("the carrier of ", name, " changed ", Counted(changes, "time"),
                          " during the test"));
  JudgeCounters(before, WithDamagedFrames(*now), result);
}

}  // namespace muster::burnin
