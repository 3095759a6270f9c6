#include "agent/resources/makers.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "agent/resources/check_values.h"
#include "common/base/status.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

constexpr char kFile[] = "/etc/hostname";
constexpr char kKernel[] = "/proc/sys/kernel/hostname";
constexpr size_t kMaxName = 64;  // HOST_NAME_MAX

class Hostname final : public Resource {
 public:
  Hostname(std::string name, ResourceContext& context)
      : name_(std::move(name)), context_(context) {}

  std::string Id() const override { return absl::StrCat("hostname[", name_, "]"); }

  absl::StatusOr<std::vector<Change>> Check() override {
    std::vector<Change> changes;
    if (context_.is_running) {
      ASSIGN_OR_RETURN(const std::string running, context_.files.Read(kKernel));
      const std::string now(absl::StripAsciiWhitespace(running));
      if (now != name_) changes.push_back({"hostname", now, name_});
    }
    const auto file = context_.files.Read(kFile);
    if (!file.ok() && !absl::IsNotFound(file.status())) return file.status();
    const std::string kept(file.ok() ? absl::StripAsciiWhitespace(*file) : "");
    if (kept != name_) changes.push_back({kFile, kept, name_});
    return changes;
  }

  absl::Status Apply(ApplyObserver& observer) override {
    // The file first: after a reboot in between, the node has the new name.
    RETURN_IF_ERROR(
        context_.files.WriteAtomically(kFile, absl::StrCat(name_, "\n"), {.mode = 0644}));
    if (!context_.is_running) return absl::OkStatus();
    return sys::RunChecked(context_.processes, {.argv = {"hostname", name_}}).status();
  }

 private:
  const std::string name_;
  ResourceContext& context_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Resource>> MakeHostname(const v1::Step& step,
                                                       ResourceContext& context, bool want_diff) {
  const std::string& name = step.hostname().name();
  RETURN_IF_ERROR(CheckName("name", name));
  for (const char c : name)
    if (!absl::ascii_isalnum(c) && c != '-' && c != '.')
      return absl::InvalidArgumentError(
          absl::StrCat("name: '", name, "' may hold letters, digits, '-' and '.' only"));
  if (name.size() > kMaxName)
    return absl::InvalidArgumentError(
        absl::StrCat("name: '", name, "' is longer than ", kMaxName, " characters"));
  return std::make_unique<Hostname>(name, context);
}

}  // namespace muster::agent
