#include "cli/render/report/status_report.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/render/output.h"
#include "cli/render/report/health_report.h"
#include "common/base/proto_time.h"
#include "common/base/text/hostlist.h"
#include "common/base/text/human_duration.h"
#include "muster/v1/node.pb.h"

namespace muster::cli {
namespace {

// "label       text"; without a label the line continues the one above.
std::string Line(absl::string_view label, absl::string_view text) {
  return absl::StrFormat("%-12s%s\n", label, text);
}

// "2 in service, 1 quarantined"
std::string InSlurm(const v1::GetStatusResponse& status) {
  std::vector<std::string> parts;
  for (const v1::ServiceCount& count : status.services()) {
    parts.push_back(absl::StrCat(count.nodes(), " ", count.service()));
  }
  std::string text = parts.empty() ? "no nodes yet" : absl::StrJoin(parts, ", ");
  if (!status.slurm_gate_trouble().empty()) {
    absl::StrAppend(&text, "; the gate waits: ", status.slurm_gate_trouble());
  }
  return text;
}

std::string Nodes(const v1::GetStatusResponse& status) {
  std::string text =
      absl::StrCat(status.nodes_total(), " known, ", status.nodes_connected(), " connected");
  if (status.nodes_pending() > 0)
    absl::StrAppend(&text, ", ", status.nodes_pending(),
                    " waiting for approval (muster node approve)");
  return text;
}

using Works = google::protobuf::RepeatedPtrField<v1::StatusWork>;

// One line each, the label before the first.
std::string Lines(absl::string_view label, const Works& works, absl::Time now) {
  std::string text;
  for (const v1::StatusWork& work : works) {
    const bool is_over = work.has_finished_at();
    const std::string when =
        is_over ? HumanTime(ToTime(work.finished_at()), now)
                : absl::StrCat("for ", HumanDuration(now - ToTime(work.created_at())));
    absl::StrAppend(
        &text, Line(text.empty() ? label : "",
                    absl::StrCat(work.id(), "  ", work.what(), work.check_only() ? " (check)" : "",
                                 work.nodes().empty() ? "" : absl::StrCat(" on ", work.nodes()),
                                 ", by ", work.created_by(), ", ", when)));
  }
  return text;
}

}  // namespace

std::string RenderStatus(const v1::GetStatusResponse& status, absl::string_view controller,
                         absl::Time now) {
  std::string text = Line("cluster", status.cluster());
  absl::StrAppend(
      &text,
      Line("controller", absl::StrCat(controller, ", musterd ", status.controller_version(),
                                      ", up ", HumanDuration(now - ToTime(status.started_at())))),
      Line("nodes", Nodes(status)));
  if (status.nodes_away_size() > 0)
    text += Line("away", FoldHostlist({status.nodes_away().begin(), status.nodes_away().end()}));
  for (const std::string& refused : status.facts_refused()) text += Line("distrusted", refused);
  if (status.nodes_locked_size() > 0)
    text += Line(
        "locked",
        absl::StrCat(FoldHostlist({status.nodes_locked().begin(), status.nodes_locked().end()}),
                     ": the key was copied (muster node show, muster audit list)"));
  if (status.nodes_to_reboot_size() > 0)
    text += Line("to reboot", absl::StrCat(FoldHostlist({status.nodes_to_reboot().begin(),
                                                         status.nodes_to_reboot().end()}),
                                           " (muster node list, muster node reboot)"));
  text += Line("inventory", status.has_inventory_revision()
                                ? absl::StrCat("revision ", status.inventory_revision())
                                : std::string("none yet (muster inventory apply)"));
  if (status.trusted_networks_size() > 0)
    text += Line("trusted", absl::StrCat(absl::StrJoin(status.trusted_networks(), ", "),
                                         ": machines join from there by their MAC address alone "
                                         "(boot_trusted_networks)"));
  if (status.slurm_gate()) text += Line("slurm", InSlurm(status));
  text += RenderProblems(status, now);
  if (status.runs().empty() && status.validations().empty() && status.rollouts().empty()) {
    text += Line("running", "nothing");
  } else {
    absl::StrAppend(&text, Lines("updates", status.rollouts(), now),
                    Lines("runs", status.runs(), now),
                    Lines("validations", status.validations(), now));
  }
  return absl::StrCat(text, Lines("failed", status.failed_runs(), now));
}

}  // namespace muster::cli
