#include "common/checks/check_tables.h"

namespace muster::checks {
namespace {

constexpr ParameterSpec kInterface = {
    .name = "interface",
    .type = ParameterType::kWord,
    .default_text = "",
    .help = "network interface of each node to test; the one that leads to the partner by default"};
constexpr ParameterSpec kMeetTimeout = {.name = "meet-timeout",
                                        .type = ParameterType::kDuration,
                                        .default_text = "60s",
                                        .help = "how long to wait for the other nodes",
                                        .min = 1,
                                        .max = 3600};

// nic-pair: what TCP makes of the way between two nodes.

constexpr absl::string_view kSendMethods[] = {"auto", "sendfile", "copy"};
constexpr ParameterSpec kPairParameters[] = {
    {.name = "duration",
     .type = ParameterType::kDuration,
     .default_text = "10s",
     .help = "how long each direction is measured",
     .min = 0.5,
     .max = 3600},
    {.name = "warmup",
     .type = ParameterType::kDuration,
     .default_text = "1s",
     .help = "how long traffic flows before it is measured",
     .min = 0,
     .max = 60},
    {.name = "streams",
     .type = ParameterType::kNumber,
     .default_text = "8",
     .help = "connections at once, each with a thread",
     .min = 1,
     .max = 64},
    {.name = "duplex",
     .type = ParameterType::kFlag,
     .default_text = "true",
     .help = "measure both directions at once too"},
    {.name = "method",
     .type = ParameterType::kWord,
     .default_text = "auto",
     .help = "how data gets into a connection; auto is sendfile where the kernel takes it",
     .words = kSendMethods},
    {.name = "latency-duration",
     .type = ParameterType::kDuration,
     .default_text = "3s",
     .help = "how long round trips are measured, at most 200,000 of them",
     .min = 0.1,
     .max = 600},
    {.name = "message-size",
     .type = ParameterType::kSize,
     .default_text = "64B",
     .help = "size of the message of a round trip",
     .min = 1,
     .max = 65536},
    kInterface,
    kMeetTimeout,
};

constexpr MetricSpec kPairMetrics[] = {
    {"receive_gbits", "Gbit/s", "nic", Better::kHigher, "payload from the partner alone"},
    {"send_gbits", "Gbit/s", "nic", Better::kHigher, "payload that arrived at the partner alone"},
    {"duplex_receive_gbits", "Gbit/s", "nic", Better::kHigher,
     "payload from the partner while as much as possible goes there"},
    {"duplex_send_gbits", "Gbit/s", "nic", Better::kHigher,
     "payload that arrived at the partner while as much as possible comes from there"},
    {"round_trip_p50", "µs", "nic", Better::kLower, "round trip of a small message, median"},
    {"round_trip_p99", "µs", "nic", Better::kLower, "round trip, 99th percentile"},
    {"round_trip_p999", "µs", "nic", Better::kLower, "round trip, 99.9th percentile"},
    {"round_trip_max", "µs", "nic", Better::kLower, "longest round trip"},
    {"round_trips", "1", "nic", Better::kNeither, "round trips that were measured"},
    {"retransmits", "1", "nic", Better::kLower, "TCP segments sent again"},
    {"path_mtu", "bytes", "nic", Better::kHigher, "largest packet that gets to the partner"},
};

constexpr CheckSpec kNicChecks[] = {
    {.name = "nic-pair",
     .scope = Scope::kPair,
     .load = Load::kNetwork,
     .parameters = kPairParameters,
     .metrics = kPairMetrics,
     .help = "TCP throughput, round trips and retransmits between two nodes"},
};

}  // namespace

absl::Span<const CheckSpec> NicChecks() { return kNicChecks; }

}  // namespace muster::checks
