// What a check found: CheckResult of muster/v1/validation.proto for a program without protobuf.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace muster::burnin {

// As v1::Outcome; the exit status of muster-burnin is 0, 1, 2 and 2.
enum class Outcome { kPass, kFail, kUnknown, kSkipped };

// The fields are those of the messages of the same names, which say what each means.
struct Sample {
  absl::Duration at;  // since the start of the check
  std::string subject;
  std::string metric;
  std::string variant;
  double value = 0;
};

struct Subject {
  std::string id;
  std::string kind;
  std::string model;
  std::string slot;
  uint32_t index = 0;
  std::map<std::string, std::string> attributes;
};

struct Metric {
  std::string name;
  std::string variant;
  std::string subject;
  std::string unit;  // of the catalogue; set by AddMetric()
  double value = 0;
};

struct Fault {
  std::string code;
  std::string subject;
  std::string message;
  std::vector<std::string> evidence;
};

struct Digest {
  std::string name;
  std::string subject;
  std::string value;
};

struct CheckResult {
  // Texts of evidence that one fault may carry.
  static constexpr size_t kMaxEvidence = 100;

  // kPass becomes kFail where there are faults: nobody sets both.
  Outcome outcome = Outcome::kPass;
  std::string reason;
  std::vector<Subject> subjects;
  std::vector<Metric> metrics;
  std::vector<Fault> faults;
  std::vector<Digest> digests;
  std::vector<std::string> tools;
};

// A result that says no more than this.
CheckResult Unknown(std::string reason);
CheckResult Skipped(std::string reason);

}  // namespace muster::burnin
