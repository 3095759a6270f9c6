#include "agent/engine/step_report.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/text/utf8.h"

namespace muster::agent {
namespace {

constexpr char kSecret[] = "[secret]";
constexpr size_t kMaxValueBytes = 4096;
constexpr size_t kMaxMessageBytes = 8192;
constexpr size_t kMaxResourceBytes = 1024;

bool ErrorMayHoldOutput(const v1::Step& step) {
  return step.has_command() || (step.has_file() && !step.file().validate().empty()) ||
         (step.has_line() && !step.line().validate().empty());
}

// "mode 0644 -> 0600, owner"; values only if they are short and not secret.
std::string Listed(const v1::Step& step, const std::vector<Change>& changes) {
  std::string list;
  for (const Change& change : changes) {
    absl::StrAppend(&list, list.empty() ? "" : ", ", change.field);
    if (!step.sensitive() && change.before.size() + change.after.size() < 200) {
      absl::StrAppend(&list, " ", change.before, " -> ", change.after);
    }
  }
  return list;
}

// Fields that can never contain a secret, and that an administrator wants to see in any case.
bool IsOpen(absl::string_view field) {
  for (const char* open : {"mode", "owner", "group", "state"})
    if (field == open) return true;
  return false;
}

}  // namespace

std::vector<v1::Change> ReportedChanges(const v1::Step& step, const std::vector<Change>& changes,
                                        bool want_diff) {
  std::vector<v1::Change> reported;
  reported.reserve(changes.size());
  for (const Change& change : changes) {
    v1::Change& out = reported.emplace_back();
    out.set_field(ValidUtf8(change.field, kMaxValueBytes));
    if (step.sensitive() && !IsOpen(change.field)) {
      out.set_before(kSecret);
      out.set_after(kSecret);
      continue;
    }
    out.set_before(ValidUtf8(change.before, kMaxValueBytes));
    out.set_after(ValidUtf8(change.after, kMaxValueBytes));
    if (want_diff) out.set_diff(ValidUtf8(change.diff, kMaxDiffBytes));
  }
  return reported;
}

std::string ReportedError(const v1::Step& step, const absl::Status& status) {
  if (step.sensitive() && ErrorMayHoldOutput(step)) {
    return absl::StrCat("failed (", absl::StatusCodeToString(status.code()),
                        "); the details could show a secret and are withheld");
  }
  return ValidUtf8(status.message(), kMaxMessageBytes);
}

absl::Status NotConverged(const v1::Step& step, const Resource& resource,
                          const std::vector<Change>& left) {
  return absl::InternalError(
      absl::StrCat(resource.Id(), " did not converge; left: ", Listed(step, left)));
}

absl::Status NotAsPlanned(const v1::Step& step, const Resource& resource,
                          const std::vector<Change>& found) {
  return absl::FailedPreconditionError(absl::StrCat(
      ReportedResource(step, resource),
      " was planned as unchanged but differs: ", Listed(step, found),
      "; nothing was done here. Make a new plan as this one was made: with `muster plan`, or "
      "with `muster update --plan` for an update"));
}

std::string ReportedResource(const v1::Step& step, const Resource& resource) {
  if (step.sensitive() && step.has_command()) return "command[secret]";
  return ValidUtf8(resource.Id(), kMaxResourceBytes);
}

void OutputTail::Append(absl::string_view text) {
  text_.append(text.data(), text.size());
  if (text_.size() <= 2 * kMaxOutputBytes) return;  // cut rarely
  text_.erase(0, text_.size() - kMaxOutputBytes);
  cut_ = true;
}

std::string OutputTail::Take() {
  if (text_.size() > kMaxOutputBytes) {
    text_.erase(0, text_.size() - kMaxOutputBytes);
    cut_ = true;
  }
  if (cut_) {
    const size_t newline = text_.find('\n');
    if (newline != std::string::npos && newline + 1 < text_.size()) text_.erase(0, newline + 1);
  }
  return ValidUtf8(std::exchange(text_, std::string()), kMaxOutputBytes);
}

}  // namespace muster::agent
