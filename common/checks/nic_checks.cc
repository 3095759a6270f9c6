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

// nic-link: whether each link is as it should be.

constexpr ParameterSpec kLinkParameters[] = {
    {.name = "interfaces",
     .type = ParameterType::kWords,
     .default_text = "",
     .help = "interfaces that must be there and up; by default all network cards with a link"},
    {.name = "speed",
     .type = ParameterType::kNumber,
     .default_text = "",
     .help = "Mbit/s that each runs at; any by default",
     .min = 1,
     .max = 1e7},
    {.name = "mtu",
     .type = ParameterType::kNumber,
     .default_text = "",
     .help = "MTU that each has; any by default",
     .min = 68,
     .max = 65536},
    {.name = "duration",
     .type = ParameterType::kDuration,
     .default_text = "10s",
     .help = "how long counters are watched",
     .min = 0.1,
     .max = 86400},
};

constexpr MetricSpec kLinkMetrics[] = {
    {"speed_mbits", "Mbit/s", "nic", Better::kHigher, "speed of the link"},
    {"mtu", "bytes", "nic", Better::kNeither, "largest packet"},
    {"carrier_changes", "1", "nic", Better::kLower, "times the link came or went"},
    {"rx_crc_errors", "1", "nic", Better::kLower, "damaged frames received"},
    {"rx_errors", "1", "nic", Better::kLower, "errors while receiving"},
    {"tx_errors", "1", "nic", Better::kLower, "errors while sending"},
    {"rx_dropped", "1", "nic", Better::kLower, "received packets thrown away"},
    {"tx_dropped", "1", "nic", Better::kLower, "packets thrown away instead of sent"},
    {"pcie_width", "1", "nic", Better::kHigher, "PCIe lanes"},
    {"pcie_speed_gts", "GT/s", "nic", Better::kHigher, "speed of a PCIe lane"},
};

// rdma-pair: perftest between two nodes.

constexpr ParameterSpec kRdmaParameters[] = {
    {.name = "device",
     .type = ParameterType::kWord,
     .default_text = "",
     .help = "RDMA device of each node, for instance mlx5_0; the first with a link by default"},
    {.name = "gid-index",
     .type = ParameterType::kNumber,
     .default_text = "",
     .help = "entry of the table of addresses for RoCE; perftest's choice by default",
     .min = 0,
     .max = 255},
    {.name = "duration",
     .type = ParameterType::kDuration,
     .default_text = "10s",
     .help = "how long each direction is measured, in whole seconds",
     .min = 2,
     .max = 3600},
    {.name = "message-size",
     .type = ParameterType::kSize,
     .default_text = "8MiB",
     .help = "size of a write",
     .min = 2,
     .max = 1073741824},
    {.name = "iterations",
     .type = ParameterType::kNumber,
     .default_text = "5000",
     .help = "small writes whose latency is measured",
     .min = 100,
     .max = 1000000},
    kInterface,
    kMeetTimeout,
};

constexpr MetricSpec kRdmaMetrics[] = {
    {"write_send_gbits", "Gbit/s", "nic", Better::kHigher, "RDMA writes to the partner"},
    {"write_receive_gbits", "Gbit/s", "nic", Better::kHigher, "RDMA writes from the partner"},
    {"write_latency", "µs", "nic", Better::kLower, "a write of 8 bytes, median"},
    {"write_latency_p99", "µs", "nic", Better::kLower, "a write of 8 bytes, 99th percentile"},
    {"write_latency_p999", "µs", "nic", Better::kLower, "a write of 8 bytes, 99.9th percentile"},
    {"port_errors", "1", "nic", Better::kLower, "errors of the port meanwhile, by counter"},
};

// collective: a ring all-reduce over all nodes.

constexpr ParameterSpec kCollectiveParameters[] = {
    {.name = "elements",
     .type = ParameterType::kNumber,
     .default_text = "25557032",
     .help = "numbers of 4 bytes that are added up; by default the gradient of ResNet-50",
     .min = 1,
     .max = 268435456},
    {.name = "iterations",
     .type = ParameterType::kNumber,
     .default_text = "20",
     .help = "all-reduces that are measured",
     .min = 1,
     .max = 10000},
    {.name = "warmup-iterations",
     .type = ParameterType::kNumber,
     .default_text = "3",
     .help = "all-reduces before that",
     .min = 0,
     .max = 1000},
    {.name = "channels",
     .type = ParameterType::kNumber,
     .default_text = "4",
     .help = "parallel rings, each with a thread",
     .min = 1,
     .max = 32},
    {.name = "compute-time",
     .type = ParameterType::kDuration,
     .default_text = "200ms",
     .help = "what a node computes between two all-reduces, for the predicted scaling",
     .min = 0.000001,
     .max = 3600},
    kInterface,
    kMeetTimeout,
};

constexpr MetricSpec kCollectiveMetrics[] = {
    {"ranks", "1", "", Better::kNeither, "nodes that took part"},
    {"all_reduce_ms", "ms", "nic", Better::kLower, "an all-reduce, median"},
    {"all_reduce_max_ms", "ms", "nic", Better::kLower, "the longest all-reduce"},
    {"algbw", "GB/s", "nic", Better::kHigher, "data by time, median"},
    {"busbw", "GB/s", "nic", Better::kHigher, "rate of each link: algbw · 2(n−1)/n"},
    {"busbw_min", "GB/s", "nic", Better::kHigher, "rate of each link in the longest all-reduce"},
    {"hop_latency", "µs", "nic", Better::kLower, "a small message from a node to the next"},
    {"predicted_ms", "ms", "nic", Better::kLower, "an all-reduce over n nodes, by the model"},
    {"scaling_worst", "1", "nic", Better::kHigher,
     "part of the time spent computing on n nodes, without overlap"},
    {"scaling_best", "1", "nic", Better::kHigher,
     "part of the time spent computing on n nodes, with full overlap"},
};

constexpr CheckSpec kNicChecks[] = {
    {.name = "nic-link",
     .scope = Scope::kNode,
     .load = Load::kIdle,
     .parameters = kLinkParameters,
     .metrics = kLinkMetrics,
     .help = "speed, errors and PCIe of network cards, and whether their links hold"},
    {.name = "nic-pair",
     .scope = Scope::kPair,
     .load = Load::kNetwork,
     .parameters = kPairParameters,
     .metrics = kPairMetrics,
     .help = "TCP throughput, round trips and retransmits between two nodes"},
    {.name = "rdma-pair",
     .scope = Scope::kPair,
     .load = Load::kNetwork,
     .parameters = kRdmaParameters,
     .metrics = kRdmaMetrics,
     .help = "RDMA write rate and latency between two nodes, by perftest"},
    {.name = "collective",
     .scope = Scope::kGroup,
     .load = Load::kNetwork,
     .parameters = kCollectiveParameters,
     .metrics = kCollectiveMetrics,
     .help = "a verified ring all-reduce over TCP between all nodes, and how training would scale"},
};

}  // namespace

absl::Span<const CheckSpec> NicChecks() { return kNicChecks; }

}  // namespace muster::checks
