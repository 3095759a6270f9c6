#include "controller/playbook/secret_readers.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace muster::controller {
namespace {

constexpr size_t kMaxReaders = 100;
constexpr size_t kMaxRoleBytes = 128;

bool IsReaderName(absl::string_view name) {
  return !name.empty() && name.size() <= kMaxRoleBytes &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isalnum(c) || c == '_' || c == '-' || c == '.';
         });
}

}  // namespace

absl::StatusOr<std::string> JoinRoles(const std::vector<std::string>& roles) {
  const std::set<std::string> sorted(roles.begin(), roles.end());
  if (sorted.count(kAnyRole) > 0 && sorted.size() > 1)
    return absl::InvalidArgumentError("'*' means every role: specify it alone");
  if (sorted.size() > kMaxReaders)
    return absl::InvalidArgumentError(
        absl::StrCat("at most ", kMaxReaders, " roles read a secret"));
  for (const std::string& role : sorted) {
    if (role != kAnyRole && !IsReaderName(role))
      return absl::InvalidArgumentError(absl::StrCat("'", role, "' is not the name of a role"));
  }
  return absl::StrJoin(sorted, ",");
}

absl::Status CheckReader(absl::string_view secret, absl::string_view roles,
                         const SecretReader& reader) {
  if (roles == kAnyRole) return absl::OkStatus();
  std::set<std::string> named = absl::StrSplit(roles, ',', absl::SkipEmpty());
  if (named.count(reader.role) > 0) return absl::OkStatus();
  const std::string now = named.empty() ? "none" : absl::StrJoin(named, ", ");
  named.insert(reader.role);
  return absl::PermissionDeniedError(
      absl::StrCat("role ", reader.role, " may not read it (its roles: ", now,
                   "); if it should, an administrator runs: muster secret roles ", secret, " ",
                   absl::StrJoin(named, ",")));
}

}  // namespace muster::controller
