#include "controller/wiring/metrics.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/version.h"
#include "controller/config.h"
#include "controller/gate/service_state.h"
#include "controller/inventory/health_policy.h"
#include "controller/inventory/inventory.h"
#include "controller/metrics/metric_table.h"
#include "controller/metrics/readings.h"
#include "controller/rollout/plan/node_step.h"
#include "controller/rollout/plan/rollout_step.h"
#include "controller/service/node_listing.h"
#include "controller/wiring/core.h"
#include "controller/wiring/work.h"
#include "muster/v1/rollout.pb.h"

namespace muster::controller {
namespace {

constexpr unsigned kOk = 200;
constexpr unsigned kUnavailable = 503;

// "in_service" of NODE_STATE_IN_SERVICE.
std::string WordOf(v1::NodeState state) {
  return absl::AsciiStrToLower(absl::StripPrefix(v1::NodeState_Name(state), "NODE_STATE_"));
}

// "as_applied" of DRIFT_STATE_AS_APPLIED.
std::string WordOf(v1::DriftState state) {
  return absl::AsciiStrToLower(absl::StripPrefix(v1::DriftState_Name(state), "DRIFT_STATE_"));
}

ProcessReading ReadProcess() {
  ProcessReading process;
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0)
    process.cpu_seconds = absl::ToDoubleSeconds(absl::DurationFromTimeval(usage.ru_utime) +
                                                absl::DurationFromTimeval(usage.ru_stime));
  if (FILE* const file = std::fopen("/proc/self/statm", "re"); file != nullptr) {
    unsigned long total = 0, resident = 0;
    if (std::fscanf(file, "%lu %lu", &total, &resident) == 2)
      process.resident_bytes = resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    std::fclose(file);
  }
  if (DIR* const folder = opendir("/proc/self/fd"); folder != nullptr) {
    while (const dirent* const entry = readdir(folder))
      process.open_files += entry->d_name[0] != '.';
    closedir(folder);
    --process.open_files;  // the one that reads the folder
  }
  return process;
}

// Names that nobody knows, as hostile agents may send them, are one condition: each would be a
// series of its own.
void ReadHealth(const health::HealthSummary& summary, const Inventory* inventory,
                Readings& readings) {
  for (const v1::NodeHealth& node : summary.nodes) {
    std::set<std::pair<std::string, std::string>> found;
    bool is_drained = false;
    std::set<v1::HealthResponse> responses;
    for (const v1::ConditionView& view : node.conditions()) {
      const v1::Condition& condition = view.condition();
      is_drained |= view.has_drained_at();
      responses.insert(view.response());
      if (condition.status() == v1::CONDITION_STATUS_OK) continue;
      const bool is_known = inventory != nullptr && inventory->health().Knows(condition.name());
      found.emplace(is_known ? condition.name() : "other",
                    condition.status() == v1::CONDITION_STATUS_BAD ? "bad" : "unknown");
    }
    for (const auto& key : found) ++readings.conditions[key];
    readings.health_drained += is_drained;
    readings.health_quarantined += responses.contains(v1::HEALTH_RESPONSE_QUARANTINED);
    readings.health_rebooting += responses.contains(v1::HEALTH_RESPONSE_REBOOTING);
    readings.health_reboot_failed += responses.contains(v1::HEALTH_RESPONSE_REBOOT_FAILED);
  }
  for (const v1::HealthBreaker& breaker : summary.breakers)
    readings.health_breakers_open += breaker.has_open_since();
  readings.health_events_dropped = summary.dropped_events;
}

absl::Status ReadWork(Transaction& txn, Readings& readings) {
  ASSIGN_OR_RETURN(const std::vector<RunRecord> runs, txn.runs().ListRunning());
  readings.runs = runs.size();
  ASSIGN_OR_RETURN(const std::vector<ValidationRecord> validations,
                   txn.validations().ListRunning());
  readings.validations = validations.size();
  ASSIGN_OR_RETURN(const std::vector<RolloutRecord> rollouts, txn.rollouts().ListOpen());
  for (const RolloutRecord& rollout : rollouts) {
    ++readings
          .rollouts[std::string(rollout::StateName(static_cast<v1::RolloutState>(rollout.state)))];
    ASSIGN_OR_RETURN(const auto nodes, txn.rollouts().ListNodes(rollout.rollout_id));
    for (const RolloutNodeRecord& node : nodes)
      ++readings
            .rollout_nodes[std::string(rollout::StepName(static_cast<v1::RolloutStep>(node.step)))];
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> MetricsPage::Render() {
  Store& store = *core_.resources.store;
  Readings readings;
  readings.version = kVersion;
  readings.started_at = started_at_;
  const absl::StatusOr<InventoryVersion> inventory = core_.inventory.Latest();
  // Before the first inventory there are the nodes that have joined.
  if (!inventory.ok() && !absl::IsNotFound(inventory.status())) return inventory.status();
  ASSIGN_OR_RETURN(
      const std::vector<v1::Node> nodes,
      ListAllNodes(store, core_.registry, inventory.ok() ? inventory->inventory.get() : nullptr));
  for (const v1::Node& node : nodes) {
    if (node.state() == v1::NODE_STATE_REMOVED) continue;
    readings.nodes.push_back(
        {node.name(), WordOf(node.state()),
         std::string(validation::ServiceWord(work_.gate->ServiceOf(node.name()))),
         node.connected()});
  }
  RETURN_IF_ERROR(store.View([&](Transaction& txn) { return ReadWork(txn, readings); }));
  ASSIGN_OR_RETURN(const std::vector<notify::ChannelState> channels,
                   work_.notifications.Channels());
  for (const notify::ChannelState& channel : channels)
    readings.channels.push_back(
        {channel.config->name, channel.summary.pending, channel.delivered, channel.failed});
  readings.notifications_dropped = work_.notifications.dropped();
  ASSIGN_OR_RETURN(const std::vector<v1::DriftPolicy> drift, work_.drift.List(nullptr));
  for (const v1::DriftPolicy& policy : drift) {
    for (const v1::NodeDrift& node : policy.nodes())
      ++readings.drift[{policy.name(), WordOf(node.state())}];
  }
  ASSIGN_OR_RETURN(const health::HealthSummary health, work_.health.Summarize());
  ReadHealth(health, inventory.ok() ? inventory->inventory.get() : nullptr, readings);
  readings.gate_is_shut = work_.gate->is_shut();
  readings.gate_is_in_trouble = !work_.gate->trouble().ok();
  readings.store_bytes = store.SizeBytes();
  readings.authority_ends = core_.resources.ca.ends_at();
  readings.process = ReadProcess();
  readings.calls = calls_.Read();
  return RenderMetrics(readings);
}

HttpReply MetricsPage::Answer(absl::string_view path) {
  if (path != "/metrics") return {.body = "not found; the metrics are at /metrics\n"};
  absl::MutexLock lock(&mutex_);
  const absl::Time now = core_.clock.Now();
  if (now < rendered_at_ || now - rendered_at_ >= kOldest) {
    absl::StatusOr<std::string> page = Render();
    if (!page.ok())
      return {.status = kUnavailable, .body = absl::StrCat(page.status().message(), "\n")};
    page_ = *std::move(page);
    rendered_at_ = now;
  }
  return {.status = kOk, .content_type = "text/plain; version=0.0.4; charset=utf-8", .body = page_};
}

absl::StatusOr<std::unique_ptr<HttpServer>> StartMetricsServer(const Config& config,
                                                               MetricsPage& page) {
  if (config.metrics_listen == "off") return nullptr;
  return HttpServer::Start(
      {.listen = config.metrics_listen, .setting = "metrics_listen"},
      [&page](const HttpRequest& request) { return page.Answer(request.path); });
}

}  // namespace muster::controller
