#include "controller/metrics/metric_table.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "controller/metrics/readings.h"

namespace muster::controller {
namespace {

using Samples = std::vector<MetricSample>;

Samples One(double value) { return {{{}, value}}; }

Samples By(absl::string_view label, const std::map<std::string, size_t>& counts) {
  Samples samples;
  for (const auto& [value, count] : counts)
    samples.push_back({{{label, value}}, static_cast<double>(count)});
  return samples;
}

template <typename Word>
Samples CountNodes(const Readings& readings, absl::string_view label, Word word) {
  std::map<std::string, size_t> counts;
  for (const NodeReading& node : readings.nodes) {
    if (!word(node).empty()) ++counts[word(node)];
  }
  return By(label, counts);
}

template <typename Holds>
Samples OfEachNode(const Readings& readings, Holds holds) {
  Samples samples;
  for (const NodeReading& node : readings.nodes)
    samples.push_back({{{"node", node.name}}, holds(node) ? 1.0 : 0.0});
  return samples;
}

Samples OfEachChannel(const Readings& readings, uint64_t ChannelReading::*number) {
  Samples samples;
  for (const ChannelReading& channel : readings.channels)
    samples.push_back({{{"channel", channel.name}}, static_cast<double>(channel.*number)});
  return samples;
}

Samples CallsByOutcome(const Readings& readings) {
  Samples samples;
  for (const CallReading& call : readings.calls) {
    for (const auto& [outcome, count] : call.outcomes)
      samples.push_back({{{"method", call.method}, {"code", outcome}}, static_cast<double>(count)});
  }
  return samples;
}

Samples CallTimes(const Readings& readings) {
  Samples samples;
  for (const CallReading& call : readings.calls) {
    uint64_t count = 0;
    for (size_t i = 0; i < call.durations.size(); ++i) {
      count += call.durations[i];
      const std::string end = i < kCallSeconds.size() ? absl::StrCat(kCallSeconds[i]) : "+Inf";
      samples.push_back(
          {{{"method", call.method}, {"le", end}}, static_cast<double>(count), "_bucket"});
    }
    samples.push_back({{{"method", call.method}}, call.seconds, "_sum"});
    samples.push_back({{{"method", call.method}}, static_cast<double>(count), "_count"});
  }
  return samples;
}

double SecondsOf(absl::Time time) { return absl::ToDoubleSeconds(time - absl::UnixEpoch()); }

constexpr Metric kMetrics[] = {
    {"muster_build_info", MetricKind::kGauge, "version", "1; the version of musterd.",
     [](const Readings& r) -> Samples {
       return {{{{"version", r.version}}, 1}};
     }},
    {"muster_nodes", MetricKind::kGauge, "state",
     "Nodes by the state of their life cycle: known, pending, enrolled, configured, in_service, "
     "quarantined, locked.",
     [](const Readings& r) {
       return CountNodes(r, "state", [](const NodeReading& n) { return n.state; });
     }},
    {"muster_nodes_by_service", MetricKind::kGauge, "service",
     "Nodes by what they are to Slurm: in service, resuming, down, taken down, drained, "
     "quarantined, rebooted, being validated, not validated, other.",
     [](const Readings& r) {
       return CountNodes(r, "service", [](const NodeReading& n) { return n.service; });
     }},
    {"muster_node_connected", MetricKind::kGauge, "node",
     "Whether the agent of a node that has joined is connected: 1 or 0.",
     [](const Readings& r) {
       Readings joined;
       for (const NodeReading& node : r.nodes) {
         if (node.state != "known" && node.state != "pending") joined.nodes.push_back(node);
       }
       return OfEachNode(joined, [](const NodeReading& n) { return n.is_connected; });
     }},
    {"muster_node_in_service", MetricKind::kGauge, "node",
     "Whether Slurm may give jobs to the node: 1 or 0.",
     [](const Readings& r) {
       return OfEachNode(r, [](const NodeReading& n) { return n.service == "in service"; });
     }},
    {"muster_runs_in_progress", MetricKind::kGauge, "", "Runs in progress.",
     [](const Readings& r) { return One(static_cast<double>(r.runs)); }},
    {"muster_validations_in_progress", MetricKind::kGauge, "", "Validations in progress.",
     [](const Readings& r) { return One(static_cast<double>(r.validations)); }},
    {"muster_rollouts", MetricKind::kGauge, "state",
     "Updates that have not ended: rolling, soaking, paused, aborting.",
     [](const Readings& r) { return By("state", r.rollouts); }},
    {"muster_rollout_nodes", MetricKind::kGauge, "step",
     "Nodes of updates that have not ended, by what happens to them: pending, draining, applying.",
     [](const Readings& r) { return By("step", r.rollout_nodes); }},
    {"muster_drift_nodes", MetricKind::kGauge, "policy, state",
     "Nodes of the drift policies by what their last check found: as_applied, differs, unknown, "
     "not_checked, not_applied.",
     [](const Readings& r) {
       Samples samples;
       for (const auto& [key, count] : r.drift)
         samples.push_back(
             {{{"policy", key.first}, {"state", key.second}}, static_cast<double>(count)});
       return samples;
     }},
    {"muster_node_conditions", MetricKind::kGauge, "condition, status",
     "Nodes with a condition that is bad or unknown; docs/health.md has the conditions.",
     [](const Readings& r) {
       Samples samples;
       for (const auto& [key, count] : r.conditions)
         samples.push_back(
             {{{"condition", key.first}, {"status", key.second}}, static_cast<double>(count)});
       return samples;
     }},
    {"muster_health_drained_nodes", MetricKind::kGauge, "",
     "Nodes that are kept out of Slurm because of their health.",
     [](const Readings& r) { return One(static_cast<double>(r.health_drained)); }},
    {"muster_health_quarantined_nodes", MetricKind::kGauge, "",
     "Of these, nodes in quarantine: only an administrator lets them return.",
     [](const Readings& r) { return One(static_cast<double>(r.health_quarantined)); }},
    {"muster_health_rebooting_nodes", MetricKind::kGauge, "",
     "Of these, nodes that are to be rebooted for their health, or are rebooting.",
     [](const Readings& r) { return One(static_cast<double>(r.health_rebooting)); }},
    {"muster_health_reboot_failed_nodes", MetricKind::kGauge, "",
     "Of these, nodes that a reboot did not help.",
     [](const Readings& r) { return One(static_cast<double>(r.health_reboot_failed)); }},
    {"muster_health_breakers_open", MetricKind::kGauge, "",
     "Breakers of the health policy that are open: too many nodes are bad at once.",
     [](const Readings& r) { return One(static_cast<double>(r.health_breakers_open)); }},
    {"muster_health_events_dropped_total", MetricKind::kCounter, "",
     "Changes of conditions that are not in the history, because a node made too many.",
     [](const Readings& r) { return One(static_cast<double>(r.health_events_dropped)); }},
    {"muster_slurm_gate_shut", MetricKind::kGauge, "",
     "1: Slurm gets only nodes that have passed a validation. 0: the gate is off.",
     [](const Readings& r) { return One(r.gate_is_shut ? 1 : 0); }},
    {"muster_slurm_gate_trouble", MetricKind::kGauge, "",
     "1: the gate cannot speak to Slurm; `muster status` says why.",
     [](const Readings& r) { return One(r.gate_is_in_trouble ? 1 : 0); }},
    {"muster_notifications_pending", MetricKind::kGauge, "channel",
     "Notifications that wait to be delivered by a channel of the inventory.",
     [](const Readings& r) { return OfEachChannel(r, &ChannelReading::pending); }},
    {"muster_notifications_delivered_total", MetricKind::kCounter, "channel",
     "Notifications that the channel's receiver has taken.",
     [](const Readings& r) { return OfEachChannel(r, &ChannelReading::delivered); }},
    {"muster_notifications_failed_total", MetricKind::kCounter, "channel",
     "Notifications that the channel's receiver has refused, or that waited for a day.",
     [](const Readings& r) { return OfEachChannel(r, &ChannelReading::failed); }},
    {"muster_notifications_dropped_total", MetricKind::kCounter, "",
     "Notifications that were lost for want of room.",
     [](const Readings& r) { return One(static_cast<double>(r.notifications_dropped)); }},
    {"muster_store_bytes", MetricKind::kGauge, "", "The size of the store's files.",
     [](const Readings& r) { return One(static_cast<double>(r.store_bytes)); }},
    {"muster_authority_expiry_timestamp_seconds", MetricKind::kGauge, "",
     "When the cluster's certificate authority expires.",
     [](const Readings& r) { return One(SecondsOf(r.authority_ends)); }},
    {"muster_calls_total", MetricKind::kCounter, "method, code",
     "People's calls that were answered, by gRPC's code. Watches and refused callers do not count.",
     CallsByOutcome},
    {"muster_call_duration_seconds", MetricKind::kHistogram, "method", "How long these calls took.",
     CallTimes},
    {"process_cpu_seconds_total", MetricKind::kCounter, "", "Processor time that musterd has used.",
     [](const Readings& r) { return One(r.process.cpu_seconds); }},
    {"process_resident_memory_bytes", MetricKind::kGauge, "", "Resident memory of musterd.",
     [](const Readings& r) { return One(static_cast<double>(r.process.resident_bytes)); }},
    {"process_open_fds", MetricKind::kGauge, "", "Open file descriptors of musterd.",
     [](const Readings& r) { return One(static_cast<double>(r.process.open_files)); }},
    {"process_start_time_seconds", MetricKind::kGauge, "", "When musterd was started.",
     [](const Readings& r) { return One(SecondsOf(r.started_at)); }},
};

// As the format asks for the values of labels.
std::string Escaped(absl::string_view value) {
  return absl::StrReplaceAll(value, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}});
}

void Append(const Metric& metric, const MetricSample& sample, std::string& page) {
  absl::StrAppend(&page, metric.name, sample.suffix);
  const char* before = "{";
  for (const auto& [label, value] : sample.labels) {
    absl::StrAppend(&page, before, label, "=\"", Escaped(value), "\"");
    before = ",";
  }
  if (!sample.labels.empty()) page += '}';
  // Exact for counts, and for bytes and times to the millisecond.
  absl::StrAppendFormat(&page, " %.16g\n", sample.value);
}

}  // namespace

absl::Span<const Metric> Metrics() { return kMetrics; }

absl::string_view MetricKindName(MetricKind kind) {
  switch (kind) {
    case MetricKind::kGauge:
      return "gauge";
    case MetricKind::kCounter:
      return "counter";
    case MetricKind::kHistogram:
      return "histogram";
  }
  return "untyped";
}

std::string RenderMetrics(const Readings& readings) {
  std::string page;
  for (const Metric& metric : kMetrics) {
    const Samples samples = metric.read(readings);
    if (samples.empty()) continue;
    absl::StrAppend(&page, "# HELP ", metric.name, " ", metric.help, "\n# TYPE ", metric.name, " ",
                    MetricKindName(metric.kind), "\n");
    for (const MetricSample& sample : samples) Append(metric, sample, page);
  }
  return page;
}

}  // namespace muster::controller
