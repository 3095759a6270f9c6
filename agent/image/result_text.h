// What became of a step in a root, for the person who builds the image. Pure.
#pragma once

#include <string>

#include "muster/v1/plan.pb.h"

namespace muster::agent {

// "changed  munge/key  file[/etc/munge/munge.key]: content, mode 0644 -> 0400\n"; for a step that
// failed, its message and the last lines of its output below. Empty: it was in sync or skipped.
std::string DescribeResult(const v1::StepResult& result);

}  // namespace muster::agent
