#include "agent/validation/worker_output.h"

#include <signal.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include <google/protobuf/util/json_util.h>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/checks/catalog.h"
#include "common/checks/finite_values.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxErrorBytes = 500;

// Deeper than any of our messages; the JSON parser is recursive.
constexpr int kMaxDepth = 32;

bool TooDeep(absl::string_view line) {
  int depth = 0;
  for (const char c : line) {
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (depth > kMaxDepth) return true;
  }
  return false;
}

// Strings must be UTF-8, or the controller could not read the message that holds them.
bool CanTravel(const v1::WorkerLine& line) {
  v1::WorkerLine again;
  return again.ParseFromString(line.SerializeAsString());
}

// muster-burnin's exit status for this outcome: 0, 1, 2.
int ExitCodeOf(v1::Outcome outcome) {
  switch (outcome) {
    case v1::OUTCOME_PASS:
      return 0;
    case v1::OUTCOME_FAIL:
      return 1;
    default:
      return 2;
  }
}

bool LoadsGpus(absl::string_view check) {
  const checks::CheckSpec* spec = checks::FindCheck(check);
  return spec != nullptr && spec->load == checks::Load::kGpu;
}

bool UsesGpus(absl::string_view check) {
  const checks::CheckSpec* spec = checks::FindCheck(check);
  return spec != nullptr &&
         std::any_of(spec->metrics.begin(), spec->metrics.end(),
                     [](const checks::MetricSpec& metric) { return metric.subject == "gpu"; });
}

// Whether a worker ignored its time limit, so that it had to be killed. One that is only slow is
// asked to end and reports its result; one that ran out of memory, or that a person killed, dies
// before.
bool HadToBeKilled(const WorkerEnd& end) {
  return end.start.ok() && end.timed_out && end.signal == SIGKILL;
}

constexpr absl::string_view kCannotBeKilled =
    "the worker cannot be killed: a call into the kernel does not return; check `journalctl -k` "
    "and state D in `ps -eo pid,stat,wchan:32,args`; a reboot ends it";

void AddDriverHangs(std::string message, v1::CheckResult& result) {
  v1::Fault& fault = *result.add_faults();
  fault.set_code("driver_hangs");
  fault.set_message(message);
  result.set_outcome(v1::OUTCOME_FAIL);
  result.set_reason(std::move(message));
}

std::string HowItEnded(const WorkerEnd& end) {
  if (!end.start.ok()) return std::string(end.start.message());
  if (end.unkillable) return std::string(kCannotBeKilled);
  if (end.timed_out) {
    return absl::StrCat("the worker was still running after its time limit of ",
                        absl::FormatDuration(end.time_limit), " and was killed");
  }
  if (!end.stop_reason.empty()) return end.stop_reason;
  if (end.signal == 9) {
    return "the worker was killed (signal 9): `journalctl -k` shows whether memory ran out";
  }
  if (end.signal != 0) {
    return absl::StrCat("the worker crashed with signal ", end.signal, " (",
                        ::strsignal(end.signal), ")");
  }
  return absl::StrCat("the worker ended with exit status ", end.exit_code, " and without a result");
}

}  // namespace

absl::Status WorkerOutput::Refuse(absl::string_view why) {
  if (broken_.empty()) broken_ = absl::StrCat("the worker printed ", why);
  return absl::InvalidArgumentError(broken_);
}

absl::StatusOr<std::optional<v1::CheckProgress>> WorkerOutput::Take(absl::string_view line) {
  if (!broken_.empty()) return absl::InvalidArgumentError(broken_);
  if (++lines_ > kMaxLines) return Refuse(absl::StrCat("more than ", kMaxLines, " lines"));
  if (line.size() >= kMaxLineBytes) {
    return Refuse(absl::StrCat("a line of more than ", kMaxLineBytes, " bytes"));
  }
  if (absl::StripAsciiWhitespace(line).empty()) return std::nullopt;
  if (result_.has_value()) return Refuse("something after its result");
  v1::WorkerLine message;
  google::protobuf::util::JsonParseOptions options;
  // The worker may be a newer version, while its package is being upgraded.
  options.ignore_unknown_fields = true;
  if (TooDeep(line) ||
      !google::protobuf::util::JsonStringToMessage(
           google::protobuf::StringPiece(line.data(), line.size()), &message, options)
           .ok()) {
    return Refuse(absl::StrCat("an invalid line: ", absl::CHexEscape(line.substr(0, 80))));
  }
  if (!CanTravel(message)) return Refuse("text that is not UTF-8");
  if (message.has_progress()) {
    v1::CheckProgress& progress = *message.mutable_progress();
    DropNonFinite(*progress.mutable_samples());
    if (progress.samples_size() > kMaxSamplesOfLine) {
      progress.mutable_samples()->DeleteSubrange(kMaxSamplesOfLine,
                                                 progress.samples_size() - kMaxSamplesOfLine);
    }
    if (!std::isfinite(progress.fraction())) progress.clear_fraction();
    return std::move(progress);
  }
  if (message.has_result()) {
    v1::CheckResult& result = *message.mutable_result();
    if (!result.check().empty() && result.check() != check_) {
      return Refuse(absl::StrCat("a result of '", result.check(), "'"));
    }
    if (result.outcome() < v1::OUTCOME_PASS || result.outcome() > v1::OUTCOME_SKIPPED) {
      return Refuse("a result without an outcome");
    }
    DropNonFinite(*result.mutable_metrics());
    DropNonFinite(*result.mutable_samples());
    if (!std::isfinite(result.seconds()) || result.seconds() < 0) result.clear_seconds();
    if (result.ByteSizeLong() > kMaxResultBytes) {
      return Refuse(absl::StrCat("a result of more than ", kMaxResultBytes, " bytes"));
    }
    result_ = std::move(result);
  }
  return std::nullopt;
}

void WorkerOutput::TakeError(absl::string_view line) {
  line = absl::StripAsciiWhitespace(line).substr(0, kMaxErrorBytes);
  if (!line.empty()) last_error_ = absl::CHexEscape(line);
}

v1::CheckResult WorkerOutput::Conclude(const WorkerEnd& end) const {
  v1::CheckResult result;
  if (result_.has_value()) result = *result_;
  result.set_check(check_);
  // None of its statements about GPUs can be trusted any longer.
  if (end.unkillable && UsesGpus(check_) && result.outcome() != v1::OUTCOME_FAIL) {
    AddDriverHangs(std::string(kCannotBeKilled), result);
    return result;
  }
  const auto unknown = [&result](absl::string_view reason) {
    result.set_outcome(v1::OUTCOME_UNKNOWN);
    result.set_reason(std::string(reason));
  };
  if (!result_.has_value() || !broken_.empty()) {
    std::string reason = broken_.empty() ? HowItEnded(end) : broken_;
    if (broken_.empty() && end.stop_reason.empty() && !last_error_.empty()) {
      absl::StrAppend(&reason, ": ", last_error_);
    }
    // Faults that were found remain, whatever happened afterwards.
    if (result.outcome() == v1::OUTCOME_FAIL) return result;
    unknown(reason);
    if (broken_.empty() && LoadsGpus(check_) && HadToBeKilled(end)) {
      AddDriverHangs(absl::StrCat("the worker did not end within its time limit of ",
                                  absl::FormatDuration(end.time_limit),
                                  ", nor on request, and was killed: a call into the GPU's driver "
                                  "may hang; look for NVRM in `journalctl -k`"),
                     result);
    }
    return result;
  }
  const bool as_said = end.start.ok() && end.signal == 0 && !end.timed_out &&
                       end.exit_code == ExitCodeOf(result.outcome());
  if (as_said || result.outcome() == v1::OUTCOME_FAIL || result.outcome() == v1::OUTCOME_UNKNOWN) {
    return result;
  }
  unknown(absl::StrCat("the worker's result is '",
                       result.outcome() == v1::OUTCOME_PASS ? "pass" : "skipped", "', but ",
                       end.signal == 0 && !end.timed_out
                           ? absl::StrCat("it ended with exit status ", end.exit_code)
                           : HowItEnded(end)));
  return result;
}

}  // namespace muster::agent
