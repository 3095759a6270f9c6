// The result of a check: CheckResult of muster/v1/validation.proto for a program without protobuf.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/checks/catalog.h"

namespace muster::burnin {

// As v1::Outcome; the exit status of muster-burnin is 0, 1, 2 and 2.
enum class Outcome { kPass, kFail, kUnknown, kSkipped };

// The fields are those of the messages of the same names, which document each.
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
  std::string unit;  // from the catalogue; set by FinishResult()
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
  // The most texts of evidence that one fault may carry.
  static constexpr size_t kMaxEvidence = 100;

  // kPass becomes kFail if there are faults: nobody sets both.
  Outcome outcome = Outcome::kPass;
  std::string reason;
  std::vector<Subject> subjects;
  std::vector<Metric> metrics;
  std::vector<Fault> faults;
  std::vector<Digest> digests;
  std::vector<std::string> tools;
  std::optional<int> lost_rank;
  bool stopped = false;
};

// An unknown result with only this reason.
CheckResult Unknown(std::string reason);
CheckResult Skipped(std::string reason);

void AddMetric(CheckResult& result, absl::string_view name, absl::string_view variant,
               absl::string_view subject, double value);
void AddFault(CheckResult& result, absl::string_view code, absl::string_view subject,
              std::string message, std::vector<std::string> evidence = {});
// For a reading that failed: the measurements stay, the outcome becomes unknown and the reason
// names the reading; later ones are added to the reason.
void AddUnknown(CheckResult& result, absl::string_view reason);

// The last step for every result: units from the catalogue, bounded evidence, fail instead of pass
// or unknown if there are faults, a reason for anything but a pass. A metric that is not finite or
// not in the catalogue is dropped and makes the result unknown.
void FinishResult(const checks::CheckSpec& check, CheckResult& result);

}  // namespace muster::burnin
