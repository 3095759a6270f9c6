#include "cli/node_change/adoption.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"
#include "common/base/text/nearest_word.h"
#include "common/base/text/plain_text.h"
#include "muster/v1/boot.pb.h"

namespace muster::cli {
namespace {

using Machines = std::vector<const v1::UnknownMachine*>;

// ListUnknownMachinesResponse has no more.
constexpr int kKept = 256;

constexpr std::pair<absl::string_view, AdoptionOrder> kOrders[] = {
    {"power-on", AdoptionOrder::kPowerOn},
    {"mac", AdoptionOrder::kMac},
    {"serial", AdoptionOrder::kSerial},
};

std::string SerialOf(const v1::UnknownMachine& machine) {
  return PlainText(machine.facts().machine().serial(), Lines::kOne);
}

absl::StatusOr<Machines> ThoseOf(const std::vector<std::string>& macs, const Machines& waiting) {
  Machines chosen;
  for (const std::string& written : macs) {
    const std::string mac = absl::StrReplaceAll(absl::AsciiStrToLower(written), {{"-", ":"}});
    const auto found = std::find_if(waiting.begin(), waiting.end(),
                                    [&](const auto* each) { return each->mac() == mac; });
    if (found == waiting.end())
      return absl::NotFoundError(absl::StrCat(
          "no waiting machine has the MAC address '", PlainText(written, Lines::kOne, 64),
          "'; `muster node discover list` shows those that do"));
    if (std::find(chosen.begin(), chosen.end(), *found) != chosen.end())
      return absl::InvalidArgumentError(absl::StrCat("--machines has ", mac, " twice"));
    chosen.push_back(*found);
  }
  return chosen;
}

absl::Status CheckSerials(const Machines& machines) {
  for (size_t i = 0; i < machines.size(); ++i) {
    const std::string serial = SerialOf(*machines[i]);
    if (serial.empty())
      return absl::FailedPreconditionError(absl::StrCat(
          machines[i]->mac(),
          " reports no serial number; order them by power-on or mac, or by --machines"));
    if (i > 0 && serial == SerialOf(*machines[i - 1]))
      return absl::FailedPreconditionError(absl::StrCat(
          machines[i - 1]->mac(), " and ", machines[i]->mac(), " report the same serial number, ",
          serial, "; order them by power-on or mac, or by --machines"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AdoptionOrder> ParseAdoptionOrder(absl::string_view text) {
  std::vector<std::string> words;
  for (const auto& [word, order] : kOrders) {
    if (word == text) return order;
    words.emplace_back(word);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown order '", PlainText(text, Lines::kOne, 64),
                   "' for --by: power-on, mac or serial", DidYouMean(text, words)));
}

bool IsWaiting(const v1::UnknownMachine& machine, absl::Time now) {
  return machine.has_told_at() && now - ToTime(machine.told_at()) < kStillThere;
}

absl::StatusOr<std::vector<Adoption>> MatchMachines(const std::vector<std::string>& names,
                                                    const v1::ListUnknownMachinesResponse& response,
                                                    AdoptionOrder order,
                                                    const std::vector<std::string>& macs) {
  if (macs.empty() && response.machines_size() >= kKept)
    return absl::FailedPreconditionError(
        absl::StrCat("the controller keeps ", kKept,
                     " machines, and there may be more; choose some of them by --machines"));
  const absl::Time now = ToTime(response.time());
  Machines machines;
  for (const v1::UnknownMachine& machine : response.machines())
    if (IsWaiting(machine, now)) machines.push_back(&machine);
  if (!macs.empty()) {
    ASSIGN_OR_RETURN(machines, ThoseOf(macs, machines));
  } else {
    std::sort(machines.begin(), machines.end(), [&](const auto* a, const auto* b) {
      const auto key = [&](const v1::UnknownMachine& machine) {
        return std::make_tuple(
            order == AdoptionOrder::kSerial ? SerialOf(machine) : "",
            order == AdoptionOrder::kPowerOn ? ToTime(machine.first_seen()) : absl::Time(),
            machine.mac());
      };
      return key(*a) < key(*b);
    });
    if (order == AdoptionOrder::kSerial) RETURN_IF_ERROR(CheckSerials(machines));
  }
  if (machines.size() != names.size())
    return absl::FailedPreconditionError(absl::StrCat(
        Counted(names.size(), "name"), " for ", Counted(machines.size(), "machine"),
        macs.empty() ? ": name as many as wait (`muster node discover list`), or choose some of "
                       "them by --machines"
                     : " of --machines"));
  std::vector<Adoption> adoptions;
  for (size_t i = 0; i < names.size(); ++i) adoptions.emplace_back(names[i], machines[i]);
  return adoptions;
}

}  // namespace muster::cli
