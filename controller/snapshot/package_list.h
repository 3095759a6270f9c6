// The packages that a repository's indexes name. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::controller::snapshot {

struct Package {
  std::string name;
  std::string version;
  std::string architecture;
  std::string path;  // in the repository: "pool/main/b/bash/bash_5.2-1_amd64.deb"
  std::string sha256;
  uint64_t size = 0;
};

// The packages of one index, unpacked. InvalidArgument names the first that lacks something or has
// a path that leads elsewhere.
absl::StatusOr<std::vector<Package>> ParsePackages(absl::string_view text);

// All packages of a repository, as one text that can be searched: a line each, sorted by path.
// Immutable.
class PackageList {
 public:
  // The text of a list of `packages`, in which one may occur several times. InvalidArgument: two of
  // them are different files at the same path.
  static absl::StatusOr<std::string> Write(std::vector<Package> packages);
  // InvalidArgument: not a text of Write().
  static absl::StatusOr<std::shared_ptr<const PackageList>> Read(std::string text);

  PackageList(const PackageList&) = delete;

  std::optional<Package> Find(absl::string_view path) const;
  void ForEach(absl::FunctionRef<void(const Package&)> visit) const;
  size_t size() const { return lines_.size(); }

 private:
  explicit PackageList(std::string text);

  const std::string text_;
  std::vector<absl::string_view> lines_;
};

}  // namespace muster::controller::snapshot
