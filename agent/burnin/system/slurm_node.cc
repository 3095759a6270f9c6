#include "agent/burnin/system/slurm_node.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/burnin/system/slurm_view.h"
#include "agent/burnin/tool.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"

namespace muster::burnin {
namespace {

// Has a folder for each GPU that the kernel's driver has bound.
constexpr char kGpusFolder[] = "/proc/driver/nvidia/gpus";
constexpr absl::Duration kSlurmTimeout = absl::Seconds(20);
constexpr absl::Duration kSlurmStep = absl::Seconds(2);

std::string LastWordsOf(const sys::ProcessResult& result) {
  if (result.timed_out)
    return absl::StrCat("no answer within ", absl::FormatDuration(kSlurmTimeout));
  const std::vector<std::string> lines = LastLines(result.output, 1);
  return lines.empty() ? absl::StrCat("exit status ", result.exit_code)
                       : std::string(absl::StripAsciiWhitespace(lines.front()));
}

// The state of Slurm on this node. It may not be ready yet, as after a boot or a restart of
// slurmctld.
struct Service {
  std::vector<Fault> faults;
  std::string unknown;  // why there is no `node`
  std::optional<SlurmNodeLine> node;
};

void LookAtSlurmd(CheckContext& context, Service& service) {
  const auto active =
      RunTool(context, {"systemctl", "is-active", "slurmd.service"}, kSlurmTimeout, "systemd");
  if (!active.ok()) {
    service.unknown = std::string(active.status().message());
    return;
  }
  if (active->ok()) return;
  service.faults.push_back(
      {.code = "slurmd_not_active",
       .subject = "",
       .message = absl::StrCat("slurmd.service is ", LastWordsOf(*active),
                               ": see journalctl -u slurmd, then systemctl restart slurmd"),
       .evidence = {}});
}

void LookAtNode(CheckContext& context, const std::string& name, Service& service) {
  const auto shown = RunTool(context, {"scontrol", "--oneliner", "show", "node", name},
                             kSlurmTimeout, "slurm-client");
  if (!shown.ok()) {
    service.unknown = std::string(shown.status().message());
    return;
  }
  absl::StatusOr<SlurmNodeLine> node = ParseSlurmNodeLine(shown->out);
  if (!node.ok()) {
    if (!shown->timed_out &&
        absl::StrContains(shown->output, absl::StrCat("Node ", name, " not found")))
      service.faults.push_back(
          {.code = "not_in_slurm",
           .subject = "",
           .message = absl::StrCat("Slurm does not know node ", name,
                                   ", the name by which slurmd registers: rewrite slurm.conf "
                                   "(muster apply playbooks/site.yaml)"),
           .evidence = {}});
    else
      service.unknown = absl::StrCat("slurmctld does not show ", name, ": ", LastWordsOf(*shown));
    return;
  }
  const std::vector<std::string> out = StatesOutOfService(node->state);
  if (!out.empty())
    service.faults.push_back(
        {.code = "slurm_state",
         .subject = "",
         .message =
             absl::StrCat("Slurm has ", name, " as ", node->state,
                          node->reason.empty() ? "" : absl::StrCat(" (", node->reason, ")"),
                          ", and starts no jobs on a node that is ", absl::StrJoin(out, ", "),
                          ": see journalctl -u slurmd here and slurmctld's log; if the state has "
                          "no cause, scontrol update nodename=",
                          name, " state=resume ends it"),
         .evidence = {}});
  service.node = *std::move(node);
}

Service LookAtService(CheckContext& context, const std::string& name) {
  Service service;
  LookAtSlurmd(context, service);
  LookAtNode(context, name, service);
  return service;
}

}  // namespace

CheckResult RunSlurmNodeCheck(CheckContext& context) {
  const auto printed = RunTool(context, {"slurmd", "-C"}, kSlurmTimeout, "slurmd");
  if (absl::IsNotFound(printed.status())) return Skipped("there is no slurmd on this node");
  if (!printed.ok()) return Unknown(std::string(printed.status().message()));
  const absl::StatusOr<SlurmdLine> machine = ParseSlurmdLine(printed->out);
  if (!printed->ok() || !machine.ok())
    return Unknown(
        absl::StrCat("slurmd -C does not report the machine's hardware: ",
                     printed->ok() ? machine.status().message() : LastWordsOf(*printed)));
  const absl::Time start = context.clock.Now();
  const absl::Duration patience = absl::Seconds(context.parameters.Number("wait"));
  Service service = LookAtService(context, machine->name);
  for (absl::Duration past; (!service.faults.empty() || !service.unknown.empty()) &&
                            (past = context.clock.Now() - start) < patience;) {
    if (context.reporter.stopping()) break;
    context.reporter.SetPhase("waiting for Slurm", absl::FDivDuration(past, patience));
    context.clock.Sleep(std::min(kSlurmStep, patience - past));
    service = LookAtService(context, machine->name);
  }
  CheckResult result;
  result.tools.push_back("Slurm");
  result.faults = std::move(service.faults);
  if (!service.unknown.empty()) AddUnknown(result, service.unknown);
  if (!service.node.has_value()) return result;
  std::optional<int64_t> gpus;
  if (context.parameters.Flag("count-gpus")) {
    const absl::StatusOr<std::vector<std::string>> listed = context.files.List(kGpusFolder);
    if (listed.ok() || absl::IsNotFound(listed.status())) {
      gpus = listed.ok() ? static_cast<int64_t>(listed->size()) : 0;
    } else {
      AddUnknown(result, absl::StrCat(kGpusFolder, ": ", listed.status().message()));
    }
  }
  for (Fault& fault : CompareWithSlurm(*service.node, machine->hardware, gpus))
    result.faults.push_back(std::move(fault));
  const SlurmHardware& configured = service.node->hardware;
  if (configured.memory_mib.has_value() && machine->hardware.memory_mib.has_value())
    AddMetric(result, "slurm_memory_margin_mib", "", "",
              static_cast<double>(*machine->hardware.memory_mib - *configured.memory_mib));
  return result;
}

}  // namespace muster::burnin
