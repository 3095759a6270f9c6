// The catalogue of checks, their parameters and their metrics: one list for the worker that runs
// the checks, the controller that judges them and the documents.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace muster::checks {

// Who takes part in one execution of a check.
enum class Scope {
  kNode,   // a node by itself
  kPair,   // two nodes with each other
  kGroup,  // all chosen nodes at once
};

// How a check loads the power supply of a rack.
enum class Load { kIdle, kCpu, kGpu, kNetwork };

enum class ParameterType {
  kNumber,    // "0.9", "8192"
  kDuration,  // "60s", "5m", "60": seconds as a number inside
  kSize,      // "1GiB": bytes inside
  kWord,      // one of `words`
  kWords,     // several of `words`, or free words if there are none; comma-separated
  kFlag,      // "true", "false"
};

struct ParameterSpec {
  absl::string_view name;  // "duration"
  ParameterType type;
  absl::string_view default_text;  // "" : the check decides, and its help says how
  absl::string_view help;
  double min = 0;
  double max = 0;                                  // 0: no bound
  absl::Span<const absl::string_view> words = {};  // the allowed ones
};

enum class Better { kHigher, kLower, kNeither };

struct MetricSpec {
  absl::string_view name;     // "tflops_median"
  absl::string_view unit;     // "TFLOPS"
  absl::string_view subject;  // kind of the Subject: "gpu"; "": the node
  Better better;
  absl::string_view help;
};

struct CheckSpec {
  absl::string_view name;  // "gpu-gemm"
  Scope scope;
  Load load;
  absl::Span<const ParameterSpec> parameters;
  absl::Span<const MetricSpec> metrics;
  absl::string_view help;
};

// All checks, in the order of the documents.
absl::Span<const CheckSpec* const> Checks();
// nullptr if no check has this name.
const CheckSpec* FindCheck(absl::string_view name);

// The parameters of one execution: every parameter of the check, given or by default.
class Parameters {
 public:
  // InvalidArgument: an unknown name (with the nearest known one), a value of another type or out
  // of bounds.
  static absl::StatusOr<Parameters> Parse(const CheckSpec& check,
                                          const std::map<std::string, std::string>& given);

  // `name` must be a parameter in the check's spec and of this type; anything else is a bug.
  double Number(absl::string_view name) const;  // also seconds and bytes; 0 for ""
  std::optional<double> OptionalNumber(absl::string_view name) const;  // nullopt for ""
  const std::string& Word(absl::string_view name) const;
  std::vector<std::string> Words(absl::string_view name) const;
  bool Flag(absl::string_view name) const;
  // As texts, defaults included.
  const std::map<std::string, std::string>& texts() const { return texts_; }

 private:
  std::map<std::string, std::string> texts_;
  std::map<std::string, double> numbers_;  // of the numeric ones that are not ""
};

}  // namespace muster::checks
