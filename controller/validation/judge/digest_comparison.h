// Compares digests that must be equal on equal hardware. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "controller/validation/judge/measurement.h"

namespace muster::controller::validation {

// Digests of one name on GPUs of one model must be equal: to the model's golden one where its file
// has it (JudgeCheck() compares that), otherwise to that of more than half of the GPUs. Without a
// majority (two GPUs that differ) it cannot be told which is wrong: all are unknown. Takes results
// as they come and keeps only their digests. Not thread-safe.
class DigestComparison {
 public:
  // `check` is any number by which findings name the check.
  void Add(uint32_t check, const Measurement& measurement);
  std::vector<ComparedFinding> Judge() const;

 private:
  struct Computed {
    uint32_t check;
    std::string node, subject, slot, value;
  };

  static void JudgeEqual(const std::string& name, const std::vector<Computed>& all,
                         std::vector<ComparedFinding>& found);

  // By name and model.
  std::map<std::pair<std::string, std::string>, std::vector<Computed>> groups_;
};

}  // namespace muster::controller::validation
