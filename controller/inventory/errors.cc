#include "controller/inventory/errors.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace muster::controller {
namespace {

// The character at `mark`, or 0.
char CharacterAt(absl::string_view text, yaml::Mark mark) {
  int line = 1;
  for (const absl::string_view shown : absl::StrSplit(text, '\n')) {
    if (line++ < mark.line) continue;
    const size_t index = static_cast<size_t>(mark.column) - 1;
    return index < shown.size() ? shown[index] : '\0';
  }
  return '\0';
}

}  // namespace

Place Origin::ToPlace() const {
  if (document == nullptr) return Place{};
  return Place{document->file_name(), mark.line, mark.column};
}

void Errors::Add(const Origin& origin, absl::string_view message) {
  if (full()) {
    ++count_;
    return;
  }
  Add(origin.document == nullptr ? absl::InvalidArgumentError(message)
                                 : origin.document->Error(origin.mark, message));
}

bool Errors::Check(const Origin& origin, absl::string_view message) {
  if (message.empty()) return true;
  Add(origin, message);
  return false;
}

bool Errors::Add(const absl::Status& status) {
  if (status.ok()) return true;
  if (++count_ <= kMaxJoinedErrors) messages_.emplace_back(status.message());
  return false;
}

bool Errors::AddAll(const absl::Status& status) {
  const ErrorTexts errors = ErrorsOf(status);
  for (const std::string& text : errors.texts) (void)Add(absl::InvalidArgumentError(text));
  count_ += errors.more;
  return status.ok();
}

void Errors::AddHostlist(const Origin& origin, const absl::Status& status) {
  Origin inside = origin;
  absl::string_view message = status.message();
  const std::vector<absl::string_view> parts = absl::StrSplit(message, absl::MaxSplits(": ", 1));
  int column = 0;
  absl::string_view number = parts[0];
  if (parts.size() == 2 && absl::ConsumePrefix(&number, "column ") &&
      absl::SimpleAtoi(number, &column)) {
    const char first = CharacterAt(origin.document->text(), origin.mark);
    inside.mark.column += column - 1 + (first == '"' || first == '\'' ? 1 : 0);
    message = parts[1];
  }
  Add(inside, message);
}

absl::Status Errors::ToStatus() const {
  return JoinErrors(absl::StatusCode::kInvalidArgument, {messages_, count_ - messages_.size()},
                    "\n");
}

}  // namespace muster::controller
