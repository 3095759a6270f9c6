// Command lines of dnf and rpm. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "agent/sys/dnf/rpm_database.h"
#include "agent/sys/package_manager.h"

namespace muster::agent {

// InvalidArgument for a name that dnf would take for a group, a file, an address or a pattern.
absl::Status CheckDnfName(const std::string& name);

// dnf, unattended: asks nothing, and ends at once when another holds the lock.
std::vector<std::string> Dnf(const std::vector<std::string>& arguments);
// The same without the network, printing nothing but the answer; versionlock hides no version.
std::vector<std::string> DnfQuery(const std::vector<std::string>& arguments);
// What a question to dnf or rpm may answer, in bytes: a line for each package of a distribution.
inline constexpr size_t kMaxQueryOutput = size_t{16} << 20;

// "tool=1.0-1" → "tool-1.0-1", "glibc.i686=2.34-1" → "glibc-2.34-1.i686": what dnf looks for.
std::string DnfSpec(const std::string& item);

// `dnf install` or `dnf remove`; the transaction has one of the two only.
std::vector<std::string> DnfTransaction(const PackageTransaction& transaction);
// The same as one transaction of both, from a file that holds DnfStoredTransaction().
std::vector<std::string> DnfReplay(const PackageTransaction& transaction, const std::string& file);
// The text of a stored transaction (`dnf history store`).
std::string DnfStoredTransaction(const std::vector<RpmPackage>& install,
                                 const std::vector<RpmPackage>& remove);

}  // namespace muster::agent
