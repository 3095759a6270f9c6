// Hardware files and what was learned for them, as text for a terminal.
#pragma once

#include <string>

#include "muster/v1/hardware.pb.h"

namespace muster::cli {

// A row for each file.
std::string RenderHardwareList(const v1::ReadHardwareResponse& response);

// Everything that one file says, each limit with its source.
std::string RenderHardwareModel(const v1::HardwareModel& model);

// What is proposed for people to look at, in lines behind `#`, and the changes of the files, which
// `git apply` and `patch -p1` take from this text as it is.
std::string RenderLearned(const v1::LearnHardwareResponse& response);

}  // namespace muster::cli
