#include "controller/run/run_records.h"

#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/proto_time.h"
#include "muster/v1/run.pb.h"

namespace muster::controller {
namespace {

std::map<uint32_t, std::string> DigestsOf(const RunNodeRecord& record) {
  std::map<uint32_t, std::string> digests;
  for (const absl::string_view each :
       absl::StrSplit(record.steps_digests, ' ', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(each, ':');
    uint32_t play = 0;
    if (absl::SimpleAtoi(parts.first, &play)) digests[play] = std::string(parts.second);
  }
  return digests;
}

}  // namespace

RunNodeRecord ToRecord(const std::string& run_id, const RunNode& node) {
  RunNodeRecord record;
  record.run_id = run_id;
  record.node = node.name;
  record.node_uuid = node.uuid;
  record.state = node.reboot.has_value() ? "rebooting" : std::string(NodePhaseName(node.phase));
  record.play_index = node.play;
  record.ok = node.ok;
  record.changed = node.changed;
  record.failed = node.failed;
  record.skipped = node.skipped;
  record.message = node.message;
  record.result_bytes = node.result_bytes;
  record.steps_digests = absl::StrJoin(node.steps_digests, " ", absl::PairFormatter(":"));
  return record;
}

RunNode ToRunNode(const RunNodeRecord& record) {
  RunNode node;
  node.name = record.node;
  node.uuid = record.node_uuid;
  node.phase = ParseNodePhase(record.state);
  node.play = record.play_index;
  node.ok = record.ok;
  node.changed = record.changed;
  node.failed = record.failed;
  node.skipped = record.skipped;
  node.message = record.message;
  node.result_bytes = record.result_bytes;
  node.steps_digests = DigestsOf(record);
  return node;
}

void FillRecap(const RunNodeRecord& record, v1::NodeRecap& recap) {
  recap.set_node(record.node);
  recap.set_ok(record.ok);
  recap.set_changed(record.changed);
  recap.set_failed(record.failed);
  recap.set_skipped(record.skipped);
  recap.set_unreachable(record.state == NodePhaseName(NodePhase::kUnreachable));
  recap.set_state(record.state);
  recap.set_message(record.message);
  for (const auto& [play, digest] : DigestsOf(record)) {
    (*recap.mutable_steps_digests())[play] = digest;
  }
}

v1::CreateRunRequest RequestOf(const RunRecord& record) {
  v1::CreateRunRequest request;
  request.ParseFromString(record.request);
  return request;
}

bool IsAppliedWhole(const v1::CreateRunRequest& request) {
  return !request.check_only() && request.tags().empty();
}

v1::Run ToProto(const RunRecord& record, const std::vector<RunNodeRecord>& nodes) {
  v1::Run run;
  const v1::CreateRunRequest request = RequestOf(record);
  run.set_run_id(record.run_id);
  run.set_playbook(request.playbook());
  run.set_bundle_sha256(request.bundle_sha256());
  run.set_state(static_cast<v1::RunState>(record.state));
  run.set_check_only(request.check_only());
  run.set_limit(request.limit());
  *run.mutable_tags() = request.tags();
  run.set_created_by(record.created_by);
  *run.mutable_created_at() = ToTimestamp(record.created_at);
  if (record.finished_at.has_value()) *run.mutable_finished_at() = ToTimestamp(*record.finished_at);
  for (const std::string& play : record.plays) run.add_plays(play);
  run.set_current_play(record.current_play);
  for (const RunNodeRecord& node : nodes) FillRecap(node, *run.add_nodes());
  run.set_message(record.message);
  run.set_inventory_revision(record.inventory_revision);
  run.set_catches_up_run_id(record.catches_up_run_id);
  run.set_plan_sha256(request.plan_sha256());
  *run.mutable_left_out() = request.left_out();
  return run;
}

void FillValidations(const std::vector<RunValidationRecord>& rows, v1::Run& run) {
  for (const RunValidationRecord& row : rows) {
    v1::RunValidation& validation = *run.add_validations();
    validation.set_play(row.play);
    validation.set_suite(row.suite);
    validation.set_state(static_cast<v1::RunValidationState>(row.state));
    validation.set_nodes(row.nodes);
    validation.set_passed_nodes(row.passed_nodes);
    validation.set_validation_id(row.validation_id);
    validation.set_message(row.message);
  }
}

std::string ResultWord(const RunNode& node) {
  switch (node.phase) {
    case NodePhase::kUnreachable:
      return kRunMissed;
    case NodePhase::kFailed:
      return "failed";
    case NodePhase::kDone:
      return node.changed > 0 ? "changed" : "ok";
    case NodePhase::kCancelled:
      return "cancelled";
    default:
      return "";
  }
}

}  // namespace muster::controller
