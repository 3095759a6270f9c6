// Readings of GPUs in the text format of Prometheus. Pure.
#pragma once

#include <optional>
#include <string>

#include "agent/burnin/gpu/metrics/gpu_sample.h"

namespace muster::burnin {

// `expected`: the number of GPUs that the node should have. The format is that of Prometheus'
// documentation, "Exposition formats", text-based, version 0.0.4.
std::string MetricsText(const NodeSample& sample, std::optional<unsigned> expected);
// What the machine draws, in the same format.
std::string PowerText(double watts);

}  // namespace muster::burnin
