// Output and files of dnf and rpm, cut and damaged in every way.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>

#include "agent/sys/dnf/dnf_output.h"
#include "agent/sys/dnf/repositories.h"
#include "agent/sys/dnf/rpm_database.h"
#include "agent/sys/dnf/rpm_version.h"
#include "agent/sys/dnf/version_locks.h"
#include "tests/fuzz/fuzz_target.h"

FUZZ_TARGET(dnf_output, data, size) {
  using namespace muster::agent;
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto progress = ParseDnfProgress(text))
    if (!(progress->percent >= 0 && progress->percent <= 100)) std::abort();
  (void)ParseRepoquery(text);
  (void)ParseDnfPreview(text);
  (void)ParseUnfinished(text);
  (void)ParseDnfFailure(text).Describe();
  (void)RpmDatabase::Parse(text).Find("tool");
  const RpmPackage tool = {"tool", "1.0-1", "noarch", "", ""};
  VersionLocks locks(text);
  locks.Hold(tool);
  if (!locks.Holds(tool)) std::abort();
  locks.Release(tool);
  if (locks.Holds(tool)) std::abort();
  std::map<std::string, int> priorities;
  ReadPriorities(text, priorities);
  (void)EnabledStream(text, "tool");
  const absl::string_view half = text.substr(0, size / 2), rest = text.substr(size / 2);
  if (CompareRpmVersions(half, rest) != -CompareRpmVersions(rest, half)) std::abort();
  return 0;
}
