// What follows when systemd drops a connection, as it does when it executes itself anew. Pure.
#pragma once

#include <string>

#include "agent/sys/unit_manager.h"

namespace muster::agent {

// Whether sd-bus reports by this errno value that the connection is gone.
bool IsLostConnection(int error);

// Why a job that nobody told the end of has failed, judged by the state in which it left the unit;
// "" if it has not.
std::string FailureInState(UnitJob job, const UnitStatus& status);

}  // namespace muster::agent
