// Progress and results as lines of v1::WorkerLine, in protobuf's JSON form.
#pragma once

#include <string>

#include "agent/burnin/output.h"

namespace muster::burnin {

// Lines without their newline. Bytes that are not UTF-8 are replaced.
std::string ProgressLine(const Progress& progress);
std::string ResultLine(const FinishedCheck& finished);

// Writes each line at once, by a single write to standard output.
class JsonLines final : public Output {
 public:
  void Write(const Progress& progress) override;
  void Write(const FinishedCheck& finished) override;
};

}  // namespace muster::burnin
