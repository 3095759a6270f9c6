// The installed packages: one digest, and their names where they are asked for.
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "agent/facts/probe.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/sys/process/process.h"
#include "common/wire/message_rules.h"
#include "muster/v1/facts.pb.h"

namespace muster::agent {
namespace {

constexpr size_t kMostRpmOutput = size_t{8} << 20;
// All lines together: half of what one message may have.
constexpr size_t kMostNamedBytes = size_t{1} << 20;

using PackageLines = std::vector<std::string>;  // "name architecture version"

// dpkg's record: a stanza for each package that is installed or was.
PackageLines ReadDpkg(const std::string& path) {
  PackageLines lines;
  std::ifstream file(path);
  std::string name, architecture, version;
  bool is_installed = false;
  const auto end_stanza = [&] {
    if (is_installed) lines.push_back(absl::StrCat(name, " ", architecture, " ", version));
    is_installed = false;
  };
  for (std::string line; std::getline(file, line);) {
    absl::string_view rest = line;
    if (rest.empty()) end_stanza();
    if (absl::ConsumePrefix(&rest, "Package: ")) name = std::string(rest);
    if (absl::ConsumePrefix(&rest, "Architecture: ")) architecture = std::string(rest);
    if (absl::ConsumePrefix(&rest, "Version: ")) version = std::string(rest);
    if (absl::ConsumePrefix(&rest, "Status: ")) is_installed = absl::EndsWith(rest, " installed");
  }
  end_stanza();
  return lines;
}

absl::StatusOr<PackageLines> ReadRpm(sys::ProcessRunner& processes) {
  sys::ProcessSpec spec;
  spec.argv = {"rpm", "--query", "--all", "--queryformat", "%{NAME} %{ARCH} %{EVR}\\n"};
  spec.timeout = absl::Seconds(30);
  spec.max_output = kMostRpmOutput;
  ASSIGN_OR_RETURN(const sys::ProcessResult result, sys::RunChecked(processes, spec));
  return absl::StrSplit(result.out, '\n', absl::SkipEmpty());
}

// Changes with the file; "": there is none.
std::string StampOf(const std::string& path) {
  struct stat is {};
  if (::stat(path.c_str(), &is) != 0) return "";
  return absl::StrCat(path, " ", is.st_ino, " ", is.st_size, " ", is.st_mtim.tv_sec, ".",
                      is.st_mtim.tv_nsec, "\n");
}

v1::PackageFacts Summarize(const PackageLines& sorted) {
  Sha256 digest;
  for (const std::string& line : sorted) digest.Update(absl::StrCat(line, "\n"));
  v1::PackageFacts facts;
  facts.set_count(static_cast<uint32_t>(sorted.size()));
  facts.set_digest(digest.FinishHex());
  return facts;
}

// All of them or none.
void NamePackages(const PackageLines& lines, v1::PackageFacts& facts) {
  size_t bytes = 0;
  for (const std::string& line : lines) bytes += line.size();
  if (bytes <= kMostNamedBytes && lines.size() <= wire::kMostPackages)
    facts.mutable_lines()->Assign(lines.begin(), lines.end());
}

// What was found last. Facts are asked for in each play of a run; reading a record of a thousand
// packages takes some 10 ms of a processor, and rpm itself more.
struct LastLook {
  absl::Mutex mutex;
  std::string stamp ABSL_GUARDED_BY(mutex);
  v1::PackageFacts facts ABSL_GUARDED_BY(mutex);
};

}  // namespace

// A node of one family may carry the tools of the other: the record that has packages counts.
absl::Status ProbePackages(const ProbeContext& context, v1::Facts& facts) {
  static LastLook& last = *new LastLook;
  const std::string dpkg = context.root + "/var/lib/dpkg/status";
  const std::string rpm = context.root + "/var/lib/rpm/rpmdb.sqlite";
  // rpm may leave its last changes in the journal beside its database.
  const std::string stamp = StampOf(dpkg) + StampOf(rpm) + StampOf(rpm + "-wal");
  if (stamp.empty()) return absl::NotFoundError("neither dpkg nor rpm has a record of packages");
  absl::MutexLock lock(&last.mutex);
  PackageLines lines;
  if (last.stamp != stamp || context.with_packages) {
    lines = ReadDpkg(dpkg);
    if (lines.empty() && !StampOf(rpm).empty()) {
      ASSIGN_OR_RETURN(lines, ReadRpm(*context.processes));
    }
    std::sort(lines.begin(), lines.end());
    last.facts = Summarize(lines);
    last.stamp = stamp;
  }
  *facts.mutable_packages() = last.facts;
  if (context.with_packages) NamePackages(lines, *facts.mutable_packages());
  return absl::OkStatus();
}

}  // namespace muster::agent
