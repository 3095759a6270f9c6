#include "cli/render/report/boot_report.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/render/output.h"
#include "cli/render/plain_text.h"
#include "common/base/proto_time.h"
#include "common/base/text/counted.h"
#include "muster/v1/boot.pb.h"

namespace muster::cli {
namespace {

// A machine that does nothing for so long does not go on by itself: under load the root of an image
// takes a few minutes.
constexpr absl::Duration kStopped = absl::Minutes(10);
constexpr absl::string_view kStoppedAfter = "stopped after ";

constexpr std::pair<v1::BootPhase, absl::string_view> kPhases[] = {
    {v1::BOOT_PHASE_SCRIPT, "script"},       {v1::BOOT_PHASE_KERNEL, "kernel"},
    {v1::BOOT_PHASE_INITRD, "initrd"},       {v1::BOOT_PHASE_ROOT, "root"},
    {v1::BOOT_PHASE_VERIFIED, "verified"},   {v1::BOOT_PHASE_SWITCHED, "switched"},
    {v1::BOOT_PHASE_REFUSED, "refused"},     {v1::BOOT_PHASE_NO_IMAGE, "no image"},
    {v1::BOOT_PHASE_WRITTEN, "written"},     {v1::BOOT_PHASE_NOT_WRITTEN, "not written"},
    {v1::BOOT_PHASE_HEALTHY, "healthy"},     {v1::BOOT_PHASE_FALLEN_BACK, "fallen back"},
    {v1::BOOT_PHASE_NO_MEMORY, "no memory"}, {v1::BOOT_PHASE_DENIED, "denied"},
    {v1::BOOT_PHASE_ENROLLED, "enrolled"},
};

std::string WordOfPhase(v1::BootPhase phase) {
  const auto row = std::find_if(std::begin(kPhases), std::end(kPhases),
                                [&](const auto& each) { return each.first == phase; });
  return row == std::end(kPhases) ? "?" : std::string(row->second);
}

std::string SourceOfBoot(const v1::NodeBoot& node) {
  switch (node.source()) {
    case v1::BOOT_SOURCE_INVENTORY:
      return "inventory";
    case v1::BOOT_SOURCE_ORDER:
      return absl::StrCat(Tame(node.ordered_by()), node.once() ? ", once" : "");
    default:
      return "-";
  }
}

// "script, kernel +1s, initrd +2s": seconds since the first step.
std::string StepsOf(const v1::Boot& boot) {
  std::string text;
  for (const v1::BootStep& step : boot.steps()) {
    if (!text.empty()) text += ", ";
    text += WordOfPhase(step.phase());
    if (&step == &boot.steps(0)) continue;
    const absl::Duration since = ToTime(step.time()) - ToTime(boot.steps(0).time());
    absl::StrAppend(&text, " +", absl::ToInt64Seconds(since), "s");
  }
  return text.empty() ? "-" : text;
}

bool IsTrouble(v1::BootPhase phase) {
  return phase == v1::BOOT_PHASE_REFUSED || phase == v1::BOOT_PHASE_NO_IMAGE ||
         phase == v1::BOOT_PHASE_NOT_WRITTEN || phase == v1::BOOT_PHASE_FALLEN_BACK ||
         phase == v1::BOOT_PHASE_DENIED || phase == v1::BOOT_PHASE_NO_MEMORY;
}

}  // namespace

std::string StateOfBoot(const v1::Boot& boot, absl::Time now) {
  if (boot.steps().empty()) return "-";
  const v1::BootStep& last = *boot.steps().rbegin();
  if (IsTrouble(last.phase())) return WordOfPhase(last.phase());
  const bool is_disk = boot.what() == "disk";
  const bool is_switched = last.phase() == v1::BOOT_PHASE_SWITCHED && !boot.writes_disk();
  if (is_switched || last.phase() == v1::BOOT_PHASE_HEALTHY || is_disk) return "done";
  // What follows is the machine's own boot, and may wait until somebody has it join.
  if (last.phase() == v1::BOOT_PHASE_WRITTEN) return WordOfPhase(last.phase());
  const absl::Time at = ToTime(last.time());
  if (now - at > kStopped) return absl::StrCat(kStoppedAfter, WordOfPhase(last.phase()));
  return absl::StrCat(WordOfPhase(last.phase()), ", ", HumanTime(at, now));
}

bool HasGoneWrong(const v1::Boot& boot, absl::Time now) {
  if (boot.steps().empty()) return false;
  return IsTrouble(boot.steps().rbegin()->phase()) ||
         absl::StartsWith(StateOfBoot(boot, now), kStoppedAfter);
}

std::string RenderBoots(const v1::ListBootsResponse& response, const ConsoleEnds& consoles,
                        absl::Time now) {
  if (response.nodes().empty()) return "no nodes\n";
  Table table({"NODE", "NEXT", "BY", "DISK", "LAST", "WHEN", "STATE", "STEPS"});
  std::string notes;
  for (const v1::NodeBoot& node : response.nodes()) {
    const v1::Boot& last = node.last();
    const bool was_seen = last.steps_size() > 0;
    const bool is_known = node.macs_size() > 0;
    table.AddRow({node.node(), Tame(node.next()), is_known ? SourceOfBoot(node) : "no MAC address",
                  node.disk().empty() ? "-" : Tame(node.disk()), was_seen ? Tame(last.what()) : "-",
                  was_seen ? HumanTime(ToTime(last.steps(0).time()), now) : "-",
                  was_seen ? StateOfBoot(last, now) : "-", StepsOf(last)});
    for (const v1::BootStep& step : last.steps()) {
      if (IsTrouble(step.phase()))
        absl::StrAppend(&notes, node.node(), ": ", Tame(step.detail()), "\n");
    }
    const auto console = consoles.find(node.node());
    if (console == consoles.end()) continue;
    absl::StrAppend(&notes, "the end of the console of ", node.node(), ":\n");
    for (const std::string& row : console->second) absl::StrAppend(&notes, "  ", Tame(row), "\n");
  }
  std::string text = absl::StrCat(table.ToString(), notes);
  if (response.dropped() > 0)
    absl::StrAppend(&text, Counted(response.dropped(), "step"),
                    " of boots not recorded: too many came at once\n");
  if (!response.is_serving())
    text += "the boot server is off; boot_listen in controller.yaml turns it on\n";
  return text;
}

}  // namespace muster::cli
