#include "agent/resources/makers.h"
#include "agent/resources/package_progress.h"

#include <array>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/resources/check_values.h"
#include "agent/resources/repository_files.h"
#include "common/base/status.h"
#include "common/base/text/text_diff.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

constexpr char kDnfCache[] = "/var/cache/dnf";

class PackageRepository final : public Resource {
 public:
  PackageRepository(v1::PackageRepositoryResource spec, ResourceContext& context, bool want_diff)
      : spec_(std::move(spec)), context_(context), want_diff_(want_diff) {
    files_ = context_.packages.family() == PackageFamily::kDnf ? DnfRepositoryFiles(spec_)
                                                               : AptRepositoryFiles(spec_);
  }

  std::string Id() const override { return absl::StrCat("package_repository[", spec_.name(), "]"); }

  absl::StatusOr<std::vector<Change>> Check() override {
    std::vector<Change> changes;
    for (const RepositoryFile& wanted : files_) {
      if (wanted.path.empty()) continue;
      ASSIGN_OR_RETURN(const std::string now, ReadOrEmpty(wanted.path));
      if (now == wanted.content) continue;
      changes.push_back({wanted.field, now.empty() ? "absent" : "present",
                         wanted.content.empty() ? "absent" : "present",
                         want_diff_ ? UnifiedDiff(now, wanted.content, wanted.path) : ""});
      if (!now.empty() && !wanted.content.empty()) changes.back().after = "changed";
    }
    return changes;
  }

  absl::Status Apply(ApplyObserver& observer) override {
    std::array<std::string, 3> before;
    bool lists_change = false;
    for (size_t i = 0; i < files_.size(); ++i) {
      ASSIGN_OR_RETURN(before[i], ReadOrEmpty(files_[i].path));
      // Pins choose among the offers of the lists; they need no new lists.
      lists_change |= i != kPins && before[i] != files_[i].content;
    }
    const std::array<size_t, 3> order = IsAbsent() ? kSourceFirst : kSourceLast;
    for (const size_t i : order) RETURN_IF_ERROR(Put(files_[i].path, files_[i].content));
    if (!lists_change) return absl::OkStatus();
    RETURN_IF_ERROR(ForgetImportedKeys());
    const absl::Status status =
        context_.packages.Update(absl::ZeroDuration(), ShowProgress(observer));
    if (status.ok()) return status;
    if (IsAbsent()) {
      // Another repository is at fault. The lists are now older than the removal, so that the next
      // transaction fetches them.
      observer.OnOutput(absl::StrCat(status.message(), "\n"));
      return absl::OkStatus();
    }
    // Restore the previous state: every later use of apt-get would fail on this source, and the
    // next run would find nothing to do here.
    for (const size_t i : kSourceFirst) RETURN_IF_ERROR(Put(files_[i].path, before[i]));
    return absl::Status(
        status.code(),
        absl::StrCat(
            "package repository '", spec_.name(), "' (",
            absl::StrJoin(spec_.base_urls().empty() ? spec_.uris() : spec_.base_urls(), " "),
            "): ", status.message(), "\nits earlier state was restored"));
  }

 private:
  static constexpr size_t kPins = 1;
  // A source must never exist without the pins that restrict it and the key that verifies it.
  static constexpr std::array<size_t, 3> kSourceFirst = {0, 1, 2};
  static constexpr std::array<size_t, 3> kSourceLast = {2, 1, 0};

  bool IsAbsent() const { return spec_.state() == v1::PRESENCE_ABSENT; }

  // dnf keeps the keys that it has imported for a repository's lists, and goes on trusting those of
  // before: in NAME-<hash of the address>/pubring of its cache.
  absl::Status ForgetImportedKeys() {
    if (context_.packages.family() != PackageFamily::kDnf) return absl::OkStatus();
    const auto folders = context_.files.List(kDnfCache);
    if (absl::IsNotFound(folders.status())) return absl::OkStatus();
    RETURN_IF_ERROR(folders.status());
    for (const std::string& folder : *folders) {
      if (folder.substr(0, folder.rfind('-')) != spec_.name()) continue;
      RETURN_IF_ERROR(context_.files.Remove(absl::StrCat(kDnfCache, "/", folder, "/pubring"),
                                            /*recursive=*/true));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> ReadOrEmpty(const std::string& path) {
    if (path.empty()) return std::string();
    auto content = context_.files.Read(path);
    if (absl::IsNotFound(content.status())) return std::string();
    return content;
  }

  absl::Status Put(const std::string& path, const std::string& content) {
    if (path.empty()) return absl::OkStatus();
    if (content.empty()) return context_.files.Remove(path, /*recursive=*/false);
    ASSIGN_OR_RETURN(const std::string now, ReadOrEmpty(path));
    if (now == content) return absl::OkStatus();
    RETURN_IF_ERROR(context_.files.MakeDirectory(path.substr(0, path.rfind('/')), 0755));
    return context_.files.WriteAtomically(path, content, {.mode = 0644});
  }

  const v1::PackageRepositoryResource spec_;
  ResourceContext& context_;
  const bool want_diff_;
  RepositoryFiles files_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Resource>> MakePackageRepository(const v1::Step& step,
                                                                ResourceContext& context,
                                                                bool want_diff) {
  const v1::PackageRepositoryResource& spec = step.package_repository();
  RETURN_IF_ERROR(CheckName("name", spec.name()));
  // apt ignores files whose names hold anything else, and dnf refuses them.
  for (const char c : spec.name())
    if (!absl::ascii_isalnum(c) && c != '-' && c != '_' && c != '.')
      return absl::InvalidArgumentError(absl::StrCat(
          "name: '", spec.name(), "' may hold letters, digits, '-', '_' and '.' only"));
  RETURN_IF_ERROR(context.packages.family() == PackageFamily::kDnf ? CheckDnfRepository(spec)
                                                                   : CheckAptRepository(spec));
  if (!spec.signed_by().empty()) RETURN_IF_ERROR(CheckPath("signed_by", spec.signed_by()));
  return std::make_unique<PackageRepository>(spec, context, want_diff);
}

}  // namespace muster::agent
