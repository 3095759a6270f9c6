#include "agent/resources/makers.h"
#include "agent/resources/package_progress.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "agent/resources/check_values.h"
#include "common/base/status.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

// Only chooses where packages come from: installed ones change with the package tasks that follow.
class PackageModule final : public Resource {
 public:
  PackageModule(v1::PackageModuleResource spec, ResourceContext& context)
      : spec_(std::move(spec)), context_(context) {}

  std::string Id() const override { return absl::StrCat("package_module[", spec_.name(), "]"); }

  absl::StatusOr<std::vector<Change>> Check() override {
    ASSIGN_OR_RETURN(const std::string now, context_.packages.ModuleStream(spec_.name()));
    std::vector<Change> changes;
    if (now != spec_.stream()) changes.push_back({"stream", Shown(now), Shown(spec_.stream())});
    return changes;
  }

  absl::Status Apply(ApplyObserver& observer) override {
    return context_.packages.SetModuleStream(spec_.name(), spec_.stream(), ShowProgress(observer));
  }

 private:
  static std::string Shown(const std::string& stream) { return stream.empty() ? "none" : stream; }

  const v1::PackageModuleResource spec_;
  ResourceContext& context_;
};

// Names and streams become one argument of dnf, "name:stream", and a file name.
absl::Status CheckModuleWord(absl::string_view field, absl::string_view word) {
  RETURN_IF_ERROR(CheckName(field, word));
  for (const char c : word)
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_' && c != '.' &&
        c != '+')
      return absl::InvalidArgumentError(absl::StrCat(
          field, ": '", word, "' may hold letters, digits, '-', '_', '.' and '+' only"));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Resource>> MakePackageModule(const v1::Step& step,
                                                            ResourceContext& context,
                                                            bool want_diff) {
  const v1::PackageModuleResource& spec = step.package_module();
  RETURN_IF_ERROR(CheckModuleWord("name", spec.name()));
  if (spec.state() != v1::PRESENCE_ABSENT) {
    RETURN_IF_ERROR(CheckModuleWord("stream", spec.stream()));
  } else if (!spec.stream().empty()) {
    return absl::InvalidArgumentError("stream: not with state absent");
  }
  return std::make_unique<PackageModule>(spec, context);
}

}  // namespace muster::agent
