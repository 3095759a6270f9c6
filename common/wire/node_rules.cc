// The rules for messages of nodes other than facts. Ids are made by the controller, or name things
// that it made; the rest is for people to read, and is cleaned rather than refused.
#include "common/wire/field_rule.h"

namespace muster::wire {
namespace {

// The limits of agent/engine/step_report.cc, with room for the mark of the cut.
constexpr size_t kOutputBytes = 70 * 1024;
constexpr size_t kValueBytes = 4200;
constexpr size_t kMessageBytes = 8300;
constexpr size_t kIdBytes = 256;
constexpr size_t kLineBytes = 1100;
// The controller keeps the last report of each node in memory: 256 conditions take 120 kB.
constexpr size_t kConditionBytes = 64;
constexpr size_t kObjectBytes = 128;
constexpr size_t kEvidenceBytes = 256;

constexpr FieldRule kNodeRules[] = {
    Text("Hello.agent_version", Letters::kWord, 128),
    Required(Text("Hello.boot_id", Letters::kId, 128)),
    Text("Hello.active_plan_id", Letters::kId, 128),
    // More than an agent keeps: running checks, and reports that wait for the controller.
    List(256, Text("Hello.check_ids", Letters::kId, kIdBytes)),

    Text("FactsReport.request_id", Letters::kId, kIdBytes),

    Text("PlanReceipt.plan_id", Letters::kId, kIdBytes),
    Text("PlanReceipt.reason", Letters::kLine, kLineBytes),

    List(128, Any("Reports.reports")),
    Text("Report.plan_id", Letters::kId, kIdBytes),
    Text("StepResult.step_id", Letters::kLine, kValueBytes),
    Required(Any("StepResult.status")),
    List(100'000, Any("StepResult.changes")),
    Text("StepResult.message", Letters::kText, kMessageBytes),
    Text("StepResult.output", Letters::kText, kOutputBytes),
    Text("StepResult.role", Letters::kLine, kLineBytes),
    Text("StepResult.name", Letters::kLine, kLineBytes),
    Text("StepResult.resource", Letters::kLine, kLineBytes),
    Text("PendingReboot.reason", Letters::kLine, kLineBytes),
    Required(Text("PendingReboot.boot_id", Letters::kId, 128)),
    Text("Change.field", Letters::kLine, kValueBytes),
    Text("Change.before", Letters::kText, kValueBytes),
    Text("Change.after", Letters::kText, kValueBytes),
    Text("Change.diff", Letters::kText, kOutputBytes),
    Text("PlanOutcome.message", Letters::kText, kMessageBytes),

    Text("StepProgress.plan_id", Letters::kId, kIdBytes),
    Text("StepProgress.step_id", Letters::kLine, kValueBytes),
    Text("StepProgress.role", Letters::kLine, kLineBytes),
    Text("StepProgress.name", Letters::kLine, kLineBytes),
    Text("StepProgress.activity", Letters::kLine, kLineBytes),

    Text("RebootRequest.plan_id", Letters::kId, kIdBytes),
    Text("RebootRequest.step_id", Letters::kLine, kValueBytes),
    Text("RebootRequest.boot_id", Letters::kId, kIdBytes),
    Text("RebootRequest.reason", Letters::kLine, kLineBytes),
    List(4096, Any("RebootRequest.running_jobs")),
    Text("RebootRequest.request_id", Letters::kId, kIdBytes),

    Text("CheckUpdate.check_id", Letters::kId, kIdBytes),
    Text("CheckProgress.phase", Letters::kLine, kLineBytes),
    List(4096, Any("CheckProgress.samples")),
    Text("Endpoint.address", Letters::kAddress, 64),
    Text("Sample.subject", Letters::kLine, kLineBytes),
    Text("Sample.metric", Letters::kLine, kLineBytes),
    Text("Sample.variant", Letters::kLine, kLineBytes),

    Text("CheckReport.check_id", Letters::kId, kIdBytes),
    Text("CheckResult.check", Letters::kLine, kLineBytes),
    Text("CheckResult.reason", Letters::kLine, kMessageBytes),
    // As many as fit into a message; excessive expansion is handled in expansion.h.
    List(100'000, Any("CheckResult.subjects")),
    List(100'000, Any("CheckResult.metrics")),
    List(100'000, Any("CheckResult.faults")),
    List(100'000, Any("CheckResult.digests")),
    List(100'000, Any("CheckResult.samples")),
    List(1000, Text("CheckResult.tools", Letters::kLine, kLineBytes)),
    Text("Subject.id", Letters::kLine, kLineBytes),
    Text("Subject.kind", Letters::kLine, kLineBytes),
    Text("Subject.model", Letters::kLine, kLineBytes),
    Text("Subject.slot", Letters::kLine, kLineBytes),
    List(1000, Any("Subject.attributes")),
    Text("Subject.AttributesEntry.key", Letters::kLine, kLineBytes),
    Text("Subject.AttributesEntry.value", Letters::kLine, kLineBytes),
    Text("Metric.name", Letters::kLine, kLineBytes),
    Text("Metric.variant", Letters::kLine, kLineBytes),
    Text("Metric.subject", Letters::kLine, kLineBytes),
    Text("Metric.unit", Letters::kLine, kLineBytes),
    Text("Fault.code", Letters::kLine, kLineBytes),
    Text("Fault.subject", Letters::kLine, kLineBytes),
    Text("Fault.message", Letters::kLine, kMessageBytes),
    List(1000, Text("Fault.evidence", Letters::kText, kMessageBytes)),
    Text("Digest.name", Letters::kLine, kLineBytes),
    Text("Digest.subject", Letters::kLine, kLineBytes),
    Text("Digest.value", Letters::kLine, kLineBytes),

    Text("SlurmAnswer.request_id", Letters::kId, kIdBytes),
    Text("SlurmAnswer.message", Letters::kLine, kLineBytes),
    List(4000, Any("SlurmNodes.nodes")),
    Text("SlurmNode.name", Letters::kHost, 255),
    Text("SlurmNode.state", Letters::kLine, kLineBytes),
    Text("SlurmNode.reason", Letters::kLine, kLineBytes),
    Text("SlurmNode.reason_user", Letters::kLine, kLineBytes),
    List(4000, Any("SlurmChanged.left_alone")),
    Text("SlurmLeftAlone.node", Letters::kHost, 255),
    Text("SlurmLeftAlone.why", Letters::kLine, kLineBytes),
    List(4000, Any("SlurmRequeued.left_alone")),
    Text("SlurmJobLeftAlone.id", Letters::kLine, 128),
    Text("SlurmJobLeftAlone.why", Letters::kLine, kLineBytes),
    List(4000, Any("SlurmJobs.nodes")),
    Text("SlurmNodeJobs.node", Letters::kHost, 255),
    List(10'000, Any("SlurmNodeJobs.jobs")),
    Text("SlurmJobInfo.id", Letters::kLine, 128),
    Text("SlurmJobInfo.user", Letters::kLine, 256),
    Text("SlurmJobInfo.name", Letters::kLine, 256),

    // An agent watches some sixty conditions, and the worst of nodes has a hundred bad ones.
    List(256, Any("HealthReport.conditions")),
    List(256, Text("HealthReport.watched", Letters::kId, kConditionBytes)),
    Required(Text("Condition.name", Letters::kId, kConditionBytes)),
    Text("Condition.object", Letters::kLine, kObjectBytes),
    Text("Condition.evidence", Letters::kLine, kEvidenceBytes),

    Number("NodeReadings.cpu_busy_ratio", 0, 1),
    List(64, Any("NodeReadings.gpus")),
    List(64, Any("NodeReadings.links")),
    Text("NodeReadings.gpu_trouble", Letters::kLine, kEvidenceBytes),
    Number("GpuReading.busy_ratio", 0, 1),
    Text("LinkReading.name", Letters::kLine, kObjectBytes),

    Text("CommandResult.command_id", Letters::kId, kIdBytes),
    Number("CommandEnd.exit_status", 0, 255),
    Number("CommandEnd.signal", 0, 64),
    Text("CommandEnd.message", Letters::kLine, kLineBytes),
    Text("CommandEnd.output", Letters::kText, kOutputBytes),
};

}  // namespace

absl::Span<const FieldRule> NodeRules() { return kNodeRules; }

}  // namespace muster::wire
