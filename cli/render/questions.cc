#include "cli/render/questions.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "cli/render/run/drain_report.h"
#include "common/base/text/counted.h"
#include "common/base/text/hostlist.h"
#include "common/base/text/slurm_job.h"
#include "muster/v1/inventory.pb.h"
#include "muster/v1/node.pb.h"
#include "muster/v1/run.pb.h"

namespace muster::cli {
namespace {

template <typename Names>
std::string Fold(const Names& names) {
  return FoldHostlist({names.begin(), names.end()});
}

bool IsInInventory(const v1::Node& node) { return !node.role().empty(); }
bool IsInSlurm(const v1::Node& node) { return !node.service().empty(); }

std::string FateOf(const std::vector<SlurmJob>& jobs, JobsOnNodes fate) {
  const bool is_one = jobs.size() == 1;
  const std::string running = absl::StrCat(Describe(jobs), is_one ? " runs" : " run", " on it");
  switch (fate) {
    case JobsOnNodes::kStay:
      return running;
    case JobsOnNodes::kWaitedFor:
      return absl::StrCat(running, DescribeEnd(jobs), ", and ", is_one ? "is" : "are",
                          " waited for");
    case JobsOnNodes::kEnd:
      return absl::StrCat(running, " and ", is_one ? "is" : "are", " NOT waited for");
  }
  return running;
}

std::string Standing(const v1::Node& node, const SlurmJobsByNode& jobs, JobsOnNodes fate) {
  std::vector<std::string> parts;
  parts.push_back(node.connected() ? "connected" : "not connected");
  parts.push_back(IsInInventory(node) ? "in the inventory" : "not in the inventory");
  if (IsInSlurm(node)) parts.push_back(absl::StrCat("in Slurm: ", node.service()));
  const auto running = jobs.find(node.name());
  if (running != jobs.end()) parts.push_back(FateOf(running->second, fate));
  return absl::StrJoin(parts, "; ");
}

std::vector<std::string> NamesOf(const std::vector<v1::Node>& nodes, bool (*has)(const v1::Node&)) {
  std::vector<std::string> names;
  for (const v1::Node& node : nodes) {
    if (has(node)) names.push_back(node.name());
  }
  return names;
}

}  // namespace

std::string ApplyQuestion(absl::string_view playbook, const v1::PreviewRunResponse& preview,
                          const v1::ListNodeJobsResponse* jobs) {
  std::string question;
  if (jobs != nullptr) {
    for (const auto& [node, of_node] : JobsByNode(*jobs))
      absl::StrAppend(&question, "  ", node, ": ", Describe(of_node),
                      of_node.size() == 1 ? " dies" : " die", " if it reboots\n");
    if (question.empty() && !jobs->unknown().empty())
      absl::StrAppend(&question, "  unknown which jobs a reboot would end: ", jobs->unknown(),
                      "\n");
  }
  return absl::StrCat(question, "Apply ", playbook, " to ",
                      Counted(static_cast<size_t>(preview.nodes_size()), "node"), " of cluster ",
                      preview.cluster(), ", ", Fold(preview.nodes()), "?");
}

std::string RemovalQuestion(absl::string_view question, absl::string_view cluster,
                            const std::vector<v1::Node>& nodes,
                            const v1::ListNodeJobsResponse& jobs, JobsOnNodes fate) {
  const SlurmJobsByNode by_node = JobsByNode(jobs);
  std::string text;
  std::vector<std::string> names;
  for (const v1::Node& node : nodes) {
    // A node that does not answer is not waited for.
    const JobsOnNodes its =
        fate == JobsOnNodes::kWaitedFor && !node.connected() ? JobsOnNodes::kEnd : fate;
    absl::StrAppend(&text, "  ", node.name(), ": ", Standing(node, by_node, its), "\n");
    names.push_back(node.name());
  }
  if (!jobs.unknown().empty())
    absl::StrAppend(&text, "  unknown whether jobs run there: ", jobs.unknown(), "\n");
  return absl::StrCat(text, absl::Substitute(question,
                                             absl::StrCat(Counted(nodes.size(), "node"), ", ",
                                                          FoldHostlist(names), ","),
                                             cluster));
}

std::string RenameInstead(absl::string_view from, absl::string_view to) {
  return absl::StrCat(
      "a node is not renamed: its name is in its certificate, in the records of its runs and "
      "validations, and in Slurm's accounting. Remove it and add it by its new name:\n"
      "  muster node remove ",
      from, "\n  muster node add ", to, " --like NODE --address ADDRESS\n");
}

std::string AfterRemoval(const std::vector<v1::Node>& nodes) {
  const std::vector<std::string> named = NamesOf(nodes, IsInInventory);
  const bool is_in_slurm = !NamesOf(nodes, IsInSlurm).empty();
  if (named.empty() && !is_in_slurm) return "";
  std::string text;
  if (!named.empty())
    absl::StrAppend(&text, "The inventory still names ", FoldHostlist(named),
                    ": remove that there, then run `muster inventory apply`.\n");
  absl::StrAppend(&text, "Slurm drops ", nodes.size() == 1 ? "the node" : "the nodes",
                  " at the next `muster apply playbooks/site.yaml`; jobs on ",
                  nodes.size() == 1 ? "it" : "them", " continue until then.\n");
  return text;
}

std::string InventoryQuestion(const v1::DiffInventoryResponse& diff) {
  std::vector<std::string> acts;
  std::string of_slurm;
  if (!diff.cluster_before().empty() && diff.cluster_before() != diff.cluster_after()) {
    acts.push_back(
        absl::StrCat("Rename cluster ", diff.cluster_before(), " to ", diff.cluster_after()));
    of_slurm = absl::StrCat("  Slurm takes the new name only after all jobs have ended and ",
                            "slurmctld was stopped; accounting keeps earlier records under ",
                            diff.cluster_before(), "\n");
  }
  if (diff.dropped_nodes_size() > 0) {
    acts.push_back(absl::StrCat(
        acts.empty() ? "Drop " : "drop ",
        Counted(static_cast<size_t>(diff.dropped_nodes_size()), "node"), ", ",
        Fold(diff.dropped_nodes()),
        acts.empty() ? absl::StrCat(", from the inventory of cluster ", diff.cluster_before())
                     : ""));
  }
  if (acts.empty()) return "";
  return absl::StrCat(of_slurm, absl::StrJoin(acts, " and "), "?");
}

std::string AfterInventory(const v1::ApplyInventoryResponse& response) {
  std::string note;
  if (!response.controller_cluster().empty()) {
    note = absl::StrCat("The inventory's cluster is ", response.inventory_cluster(),
                        ", that of /etc/muster/controller.yaml ", response.controller_cluster(),
                        ": correct `cluster:` in one of them, and restart musterd after a change ",
                        "of controller.yaml.\n");
  }
  if (response.dropped_members_size() == 0) return note;
  const std::string nodes = Fold(response.dropped_members());
  const bool is_one = response.dropped_members_size() == 1;
  return absl::StrCat(
      note, nodes, is_one ? " is" : " are", " no longer in the inventory but still ",
      is_one ? "a member" : "members", " of the cluster: no playbook reaches ",
      is_one ? "it" : "them", ". `muster apply playbooks/site.yaml` takes ", is_one ? "it" : "them",
      " out of Slurm, `muster node remove ", nodes, " --reason …` ends the membership.\n");
}

}  // namespace muster::cli
