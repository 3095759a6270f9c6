// Conditions of the site's own, as probes.
#pragma once

#include <functional>
#include <vector>

#include "agent/health/probes/probe.h"
#include "agent/health/settings.h"
#include "muster/v1/command.pb.h"

namespace muster::agent::health {

// Runs a command to its end, as agent/command does for administrators.
using RunSiteCommand = std::function<v1::CommandEnd(const v1::StartCommand&)>;

std::vector<ProbeSpec> MakeSiteProbes(const std::vector<SiteCondition>& sites,
                                      const RunSiteCommand& run);

}  // namespace muster::agent::health
