#include "agent/sys/list_age.h"

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace muster::agent {

ListAge::ListAge(sys::FileSystem& files, Clock& clock, std::string stamp, std::string sources_file,
                 std::string sources_folder)
    : files_(files),
      clock_(clock),
      stamp_(std::move(stamp)),
      sources_file_(std::move(sources_file)),
      sources_folder_(std::move(sources_folder)) {}

absl::Time ListAge::FetchedAt() {
  const auto stamp = files_.Read(stamp_);
  absl::Time fetched;
  std::string error;
  if (!stamp.ok() ||
      !absl::ParseTime(absl::RFC3339_full, std::string(absl::StripAsciiWhitespace(*stamp)),
                       &fetched, &error) ||
      fetched > clock_.Now())
    return absl::InfinitePast();
  return fetched;
}

bool ListAge::IsOver(absl::Duration max_age) {
  const absl::Time fetched = FetchedAt();
  if (fetched == absl::InfinitePast() || clock_.Now() - fetched > max_age) return true;
  std::vector<std::string> sources = {sources_file_, sources_folder_};
  if (const auto names = files_.List(sources_folder_); names.ok())
    for (const std::string& name : *names)
      sources.push_back(absl::StrCat(sources_folder_, "/", name));
  for (const std::string& path : sources) {
    const auto stat = files_.Stat(path);
    if (stat.ok() && stat->has_value() && absl::FromUnixNanos((*stat)->modified_ns) > fetched)
      return true;
  }
  return false;
}

absl::Status ListAge::Record(absl::Time started) {
  return files_.WriteAtomically(
      stamp_, absl::StrCat(absl::FormatTime(started, absl::UTCTimeZone()), "\n"), {.mode = 0600});
}

}  // namespace muster::agent
