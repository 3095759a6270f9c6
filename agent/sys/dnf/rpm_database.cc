#include "agent/sys/dnf/rpm_database.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/sys/dnf/rpm_version.h"

namespace muster::agent {
namespace {

constexpr absl::string_view kArchitectures[] = {"noarch",  "x86_64",  "i686",    "i386",
                                                "aarch64", "armv7hl", "ppc64le", "s390x"};
// The keys that rpm trusts, kept as packages.
constexpr absl::string_view kKeys = "gpg-pubkey";

}  // namespace

std::string RpmPackage::Nevra() const { return absl::StrCat(name, "-", version, ".", arch); }

std::set<std::string> RpmPackage::Names() const {
  return {name, absl::StrCat(name, "-", version), absl::StrCat(name, "-", WithoutEpoch(version))};
}

std::pair<std::string, std::string> SplitArchitecture(absl::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot != absl::string_view::npos && dot > 0)
    for (const absl::string_view arch : kArchitectures)
      if (name.substr(dot + 1) == arch)
        return {std::string(name.substr(0, dot)), std::string(arch)};
  return {std::string(name), ""};
}

const char RpmDatabase::kFormat[] =
    "%{NAME}\\t%|EPOCH?{%{EPOCH}:}:{}|%{VERSION}-%{RELEASE}\\t%{ARCH}\\t%{INSTALLTID}\\n";

RpmDatabase RpmDatabase::Parse(absl::string_view output) {
  RpmDatabase database;
  std::set<std::string> seen;
  for (const absl::string_view line : absl::StrSplit(output, '\n')) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, '\t');
    if (fields.size() != 4 || fields[0].empty() || fields[1].empty() || fields[0] == kKeys)
      continue;
    absl::string_view version = fields[1];
    absl::ConsumePrefix(&version, "0:");
    const size_t place = database.packages_.size();
    const RpmPackage& package = database.packages_.emplace_back(
        RpmPackage{std::string(fields[0]), std::string(version), std::string(fields[2]),
                   std::string(fields[3]), ""});
    database.has_several_versions_ |=
        !seen.insert(absl::StrCat(package.name, ".", package.arch)).second;
    for (const std::string& key : package.Names()) {
      database.by_name_.emplace(key, place);
      database.by_name_.emplace(absl::StrCat(key, ".", package.arch), place);
    }
    database.by_nevra_[package.Nevra()] = place;
  }
  return database;
}

std::vector<RpmPackage> RpmDatabase::Find(const std::string& name) const {
  const auto [begin, end] = by_name_.equal_range(name);
  std::vector<RpmPackage> found;
  std::transform(begin, end, std::back_inserter(found),
                 [this](const auto& row) { return packages_[row.second]; });
  std::stable_sort(found.begin(), found.end(), [](const RpmPackage& a, const RpmPackage& b) {
    return CompareRpmVersions(a.version, b.version) > 0;
  });
  return found;
}

std::vector<RpmPackage> RpmDatabase::All() const {
  std::vector<RpmPackage> all;
  std::transform(by_nevra_.begin(), by_nevra_.end(), std::back_inserter(all),
                 [this](const auto& row) { return packages_[row.second]; });
  return all;
}

const RpmPackage* RpmDatabase::FindNevra(const std::string& nevra) const {
  const auto it = by_nevra_.find(nevra);
  return it == by_nevra_.end() ? nullptr : &packages_[it->second];
}

}  // namespace muster::agent
