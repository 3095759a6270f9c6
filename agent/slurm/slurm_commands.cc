#include "agent/slurm/slurm_commands.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/slurm/job_listing.h"
#include "agent/slurm/node_listing.h"
#include "agent/slurm/request_check.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "common/base/text/slurm_state.h"
#include "common/base/text/utf8.h"
#include "common/sys/process/process.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kTimeout = absl::Seconds(10);
// Some 1.5 kB for each of ten thousand nodes.
constexpr size_t kMaxListing = size_t{32} << 20;
constexpr size_t kMaxMessage = 1024;
// An argument may have 128 KiB, and a name 255 bytes.
constexpr size_t kNodesACommand = 256;

using NodesByName = std::map<std::string, v1::SlurmNode>;

NodesByName ByName(std::vector<v1::SlurmNode> nodes) {
  NodesByName by_name;
  for (v1::SlurmNode& node : nodes) by_name.emplace(node.name(), std::move(node));
  return by_name;
}

// False: it is as wished already. The error's message says for whose sake it is left alone.
absl::StatusOr<bool> IsToDrain(const v1::SlurmNode& node, absl::string_view expected,
                               absl::string_view reason) {
  if (node.is_drained() && node.reason() == reason) return IsDownButAnswers(node);
  const std::string held = HeldBecause(node);
  if (!held.empty() && (expected.empty() || node.reason() != expected))
    return absl::FailedPreconditionError(held);
  // slurmctld would requeue the job, or kill it. Once the node is up the job stays.
  if (IsPoweringUpForJobInSlurm(node.state()))
    return absl::FailedPreconditionError("it is being powered up for a job");
  return true;
}

// As IsToDrain().
absl::StatusOr<bool> IsToUndrain(const v1::SlurmNode& node, absl::string_view expected) {
  if (!node.is_drained() && (expected.empty() || !IsDownButAnswers(node))) return false;
  if (node.reason() != expected) {
    return absl::FailedPreconditionError(
        node.is_held() ? HeldBecause(node) : absl::StrCat("it is down: ", node.reason()));
  }
  // Slurm 22.05 refuses it and does it nevertheless.
  if (absl::StartsWith(node.state(), "UNKNOWN")) {
    return absl::FailedPreconditionError("its slurmd has not registered yet");
  }
  return true;
}

}  // namespace

v1::SlurmAnswer SlurmCommands::Answer(const v1::SlurmRequest& request) {
  v1::SlurmAnswer answer;
  absl::Status status = CheckSlurmRequest(request);
  if (status.ok()) status = Fill(request, answer);
  if (!status.ok()) {
    answer.Clear();
    answer.set_code(static_cast<uint32_t>(status.code()));
    answer.set_message(ValidUtf8(status.message(), kMaxMessage));
  }
  answer.set_request_id(request.request_id());
  return answer;
}

absl::Status SlurmCommands::Fill(const v1::SlurmRequest& request, v1::SlurmAnswer& answer) {
  switch (request.request_case()) {
    case v1::SlurmRequest::kListNodes: {
      ASSIGN_OR_RETURN(std::vector<v1::SlurmNode> nodes, List());
      *answer.mutable_nodes() = SlurmNodesAfter(std::move(nodes), request.list_nodes().after());
      return absl::OkStatus();
    }
    case v1::SlurmRequest::kDrain: {
      ASSIGN_OR_RETURN(*answer.mutable_changed(), Drain(request.drain()));
      return absl::OkStatus();
    }
    case v1::SlurmRequest::kUndrain: {
      ASSIGN_OR_RETURN(*answer.mutable_changed(), Undrain(request.undrain()));
      return absl::OkStatus();
    }
    case v1::SlurmRequest::kListJobs: {
      ASSIGN_OR_RETURN(*answer.mutable_jobs(), ListJobs(request.list_jobs()));
      return absl::OkStatus();
    }
    case v1::SlurmRequest::kRequeueJobs: {
      ASSIGN_OR_RETURN(*answer.mutable_requeued(), Requeue(request.requeue_jobs()));
      return absl::OkStatus();
    }
    case v1::SlurmRequest::REQUEST_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("no request");
}

absl::StatusOr<std::string> SlurmCommands::Run(std::vector<std::string> argv, size_t max_output) {
  sys::ProcessSpec spec;
  spec.argv = std::move(argv);
  spec.timeout = kTimeout;
  spec.max_output = max_output;
  ASSIGN_OR_RETURN(sys::ProcessResult result, processes_.Run(spec));
  if (result.ok()) return std::move(result.out);
  const absl::Status why = sys::CheckSuccess(spec, result);
  if (result.timed_out || absl::StrContains(result.output, "Unable to contact slurm controller")) {
    return absl::UnavailableError(absl::StrCat("slurmctld does not answer: ", why.message()));
  }
  return why;
}

absl::StatusOr<std::vector<v1::SlurmNode>> SlurmCommands::List() {
  const absl::StatusOr<std::string> text =
      Run({"scontrol", "--oneliner", "show", "node"}, kMaxListing);
  if (text.ok()) return ParseSlurmNodes(*text);
  // Any failure means that the question can be asked again: Slurm is being set up, or its
  // controller is away.
  if (absl::IsNotFound(text.status())) return text.status();
  return absl::UnavailableError(text.status().message());
}

absl::StatusOr<v1::SlurmChanged> SlurmCommands::Drain(const v1::DrainSlurmNodes& request) {
  ASSIGN_OR_RETURN(Change change, Find(request.nodes(),
                                       [&](const v1::SlurmNode& node, absl::string_view expected) {
                                         return IsToDrain(node, expected, request.reason());
                                       }));
  // No job starts on it between the two: Slurm first waits for its slurmd to answer.
  RETURN_IF_ERROR(Update(change.down, {"State=RESUME"}));
  change.up.insert(change.up.end(), change.down.begin(), change.down.end());
  RETURN_IF_ERROR(
      Update(std::move(change.up), {"State=DRAIN", absl::StrCat("Reason=", request.reason())}));
  return std::move(change.changed);
}

absl::StatusOr<v1::SlurmChanged> SlurmCommands::Undrain(const v1::UndrainSlurmNodes& request) {
  ASSIGN_OR_RETURN(Change change, Find(request.nodes(), IsToUndrain));
  // RESUME would also bring back a node that does not answer.
  RETURN_IF_ERROR(Update(std::move(change.up), {"State=UNDRAIN"}));
  RETURN_IF_ERROR(Update(std::move(change.down), {"State=RESUME"}));
  return std::move(change.changed);
}

absl::StatusOr<SlurmCommands::Change> SlurmCommands::Find(
    const google::protobuf::RepeatedPtrField<v1::SlurmNodeChange>& changes, const Look& look) {
  ASSIGN_OR_RETURN(std::vector<v1::SlurmNode> listed, List());
  const NodesByName nodes = ByName(std::move(listed));
  Change found;
  for (const v1::SlurmNodeChange& change : changes) {
    const auto node = nodes.find(change.node());
    const absl::StatusOr<bool> to_change = node == nodes.end()
                                               ? absl::NotFoundError("Slurm does not know it")
                                               : look(node->second, change.expected_reason());
    if (!to_change.ok()) {
      v1::SlurmLeftAlone& left = *found.changed.add_left_alone();
      left.set_node(change.node());
      left.set_why(ValidUtf8(to_change.status().message(), kMaxMessage));
    } else if (*to_change) {
      const bool is_down = !change.expected_reason().empty() && IsDownButAnswers(node->second);
      (is_down ? found.down : found.up).push_back(change.node());
    }
  }
  return found;
}

absl::Status SlurmCommands::Update(std::vector<std::string> nodes,
                                   const std::vector<std::string>& settings) {
  for (size_t begin = 0; begin < nodes.size(); begin += kNodesACommand) {
    const size_t end = std::min(nodes.size(), begin + kNodesACommand);
    std::vector<std::string> argv = {"scontrol", "update"};
    argv.push_back(absl::StrCat("NodeName=",
                                FoldHostlist({nodes.begin() + static_cast<std::ptrdiff_t>(begin),
                                              nodes.begin() + static_cast<std::ptrdiff_t>(end)})));
    argv.insert(argv.end(), settings.begin(), settings.end());
    RETURN_IF_ERROR(Run(std::move(argv), kMaxMessage * 4).status());
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::SlurmJobs> SlurmCommands::ListJobs(const v1::ListSlurmJobs& request) {
  const std::set<std::string> nodes(request.nodes().begin(), request.nodes().end());
  ASSIGN_OR_RETURN(const std::string text, Queue(absl::StrCat("--format=", kJobsFormat)));
  v1::SlurmJobs jobs = ParseSlurmJobs(text, nodes);
  if (jobs.nodes().empty()) return jobs;
  // Without its name a job is just as much in the way.
  if (const auto names = Queue(absl::StrCat("--format=", kJobNamesFormat)); names.ok())
    AddJobNames(*names, jobs);
  return jobs;
}

absl::StatusOr<v1::SlurmRequeued> SlurmCommands::Requeue(const v1::RequeueSlurmJobs& request) {
  std::set<std::string> nodes;
  for (const v1::SlurmJobOnNode& job : request.jobs()) nodes.insert(job.node());
  ASSIGN_OR_RETURN(const std::string listing, Queue(absl::StrCat("--format=", kJobsFormat)));
  ASSIGN_OR_RETURN(const std::string text, Queue(absl::StrCat("--Format=", kJobTraitsFormat)));
  std::set<std::pair<std::string, std::string>> places;  // of jobs, with their nodes
  const v1::SlurmJobs listed = ParseSlurmJobs(listing, nodes);
  for (const v1::SlurmNodeJobs& node : listed.nodes()) {
    for (const v1::SlurmJobInfo& job : node.jobs()) places.emplace(job.id(), node.node());
  }
  const std::map<std::string, JobTraits> traits = ParseJobTraits(text);
  v1::SlurmRequeued requeued;
  std::set<std::string> seen;  // a job may have several of the nodes
  for (const v1::SlurmJobOnNode& job : request.jobs()) {
    const auto found = traits.find(job.id());
    const bool is_there = found != traits.end() && places.count({job.id(), job.node()}) > 0;
    if (!is_there || found->second.is_ending || !seen.insert(job.id()).second) continue;
    std::string why = WhyNotRequeued(found->second);
    if (why.empty()) {
      // Without "Incomplete" a job that ends in this moment would run a second time.
      const absl::Status done =
          Run({"scontrol", "requeue", "Incomplete", job.id()}, kMaxMessage * 4).status();
      if (absl::IsUnavailable(done)) return done;
      why = std::string(done.message());
    }
    if (why.empty()) continue;
    v1::SlurmJobLeftAlone& left = *requeued.add_left_alone();
    left.set_id(job.id());
    left.set_why(ValidUtf8(why, kMaxMessage));
  }
  return requeued;
}

absl::StatusOr<std::string> SlurmCommands::Queue(absl::string_view format) {
  // For all nodes: squeue fails as a whole for a name that Slurm does not know.
  return Run({"squeue", "--noheader", std::string(format),
              "--states=RUNNING,COMPLETING,CONFIGURING,SUSPENDED,STOPPED,SIGNALING,"
              "RESIZING,STAGE_OUT"},
             kMaxListing);
}

}  // namespace muster::agent
