// Hardware files and what has been learned for them, as text for a terminal.
#pragma once

#include <string>

#include "muster/v1/hardware.pb.h"

namespace muster::cli {

// A row for each file.
std::string RenderHardwareList(const v1::ReadHardwareResponse& response);

// The whole content of one file, each limit with its source.
std::string RenderHardwareModel(const v1::HardwareModel& model);

// The proposals for people to review, in lines that begin with `#`, and the changes of the files,
// which `git apply` and `patch -p1` accept as they are.
std::string RenderLearned(const v1::LearnHardwareResponse& response);

}  // namespace muster::cli
