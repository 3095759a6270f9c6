#include "agent/resources/makers.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "agent/resources/check_values.h"
#include "common/base/status.h"
#include "common/base/text/text_diff.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

constexpr char kLoadFolder[] = "/etc/modules-load.d";
constexpr char kOptionFolder[] = "/etc/modprobe.d";

std::string Canonical(absl::string_view name) { return absl::StrReplaceAll(name, {{"-", "_"}}); }

// The state of a module in the kernel.
enum class Presence { kNot, kLoaded, kInUse, kBuiltIn };

class KernelModule final : public Resource {
 public:
  KernelModule(v1::KernelModuleResource spec, ResourceContext& context, bool want_diff)
      : spec_(std::move(spec)),
        name_(Canonical(spec_.name())),
        context_(context),
        want_diff_(want_diff) {
    const bool load = !Unloads();
    std::string options;
    if (!spec_.parameters().empty())
      absl::StrAppend(&options, "options ", name_, " ", absl::StrJoin(spec_.parameters(), " "),
                      "\n");
    if (spec_.state() == v1::KERNEL_MODULE_STATE_BLACKLISTED)
      absl::StrAppend(&options, "blacklist ", name_, "\n");
    files_[0] = {"at boot", kLoadFolder, load ? absl::StrCat(name_, "\n") : ""};
    files_[1] = {"options", kOptionFolder, options};
    for (Wanted& file : files_) {
      file.path = absl::StrCat(file.folder, "/muster-", name_, ".conf");
      if (!file.content.empty()) file.content.insert(0, "# Written by Muster.\n");
    }
  }

  std::string Id() const override { return absl::StrCat("kernel_module[", name_, "]"); }

  absl::StatusOr<std::vector<Change>> Check() override {
    std::vector<Change> changes;
    if (context_.is_running) RETURN_IF_ERROR(CompareRunning(changes));
    for (const Wanted& file : files_) {
      ASSIGN_OR_RETURN(const std::string now, ReadOrEmpty(file.path));
      if (now == file.content) continue;
      changes.push_back({file.field, now.empty() ? "absent" : "present",
                         file.content.empty() ? "absent"
                         : now.empty()        ? "present"
                                              : "changed",
                         want_diff_ ? UnifiedDiff(now, file.content, file.path) : ""});
    }
    return changes;
  }

  absl::Status Apply(ApplyObserver& observer) override {
    // Before anything is written: a module that is built in takes no options from files.
    Presence presence = Presence::kNot;
    if (context_.is_running) {
      ASSIGN_OR_RETURN(presence, Look());
      if (presence == Presence::kBuiltIn) RETURN_IF_ERROR(CheckBuiltIn());
    }
    // The options first: loading uses them.
    for (const size_t i : {1, 0}) RETURN_IF_ERROR(Put(files_[i]));
    if (!context_.is_running) return absl::OkStatus();
    if (!Unloads() && presence == Presence::kNot) return Modprobe({name_}, "loading", observer);
    if (Unloads() && presence == Presence::kLoaded)
      return Modprobe({"--remove", name_}, "unloading", observer);
    return absl::OkStatus();
  }

 private:
  struct Wanted {
    const char* field = "";
    const char* folder = "";
    std::string content;  // empty: no such file
    std::string path = {};
  };

  bool Unloads() const {
    return spec_.state() == v1::KERNEL_MODULE_STATE_ABSENT ||
           spec_.state() == v1::KERNEL_MODULE_STATE_BLACKLISTED;
  }

  // Compares with the kernel that is running.
  absl::Status CompareRunning(std::vector<Change>& changes) {
    ASSIGN_OR_RETURN(const Presence presence, Look());
    if (presence == Presence::kBuiltIn) return CheckBuiltIn();
    if (!Unloads() && presence == Presence::kNot) {
      RETURN_IF_ERROR(CheckLoadable());
      changes.push_back({"state", "not loaded", "loaded"});
    } else if (Unloads() && presence == Presence::kLoaded) {
      changes.push_back({"state", "loaded", "unloaded"});
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> ReadOrEmpty(const std::string& path) {
    auto content = context_.files.Read(path);
    if (absl::IsNotFound(content.status())) return std::string();
    return content;
  }

  absl::StatusOr<std::string> KernelRelease() {
    ASSIGN_OR_RETURN(const std::string release, context_.files.Read("/proc/sys/kernel/osrelease"));
    return std::string(absl::StripAsciiWhitespace(release));
  }

  absl::StatusOr<Presence> Look() {
    const std::string folder = absl::StrCat("/sys/module/", name_);
    ASSIGN_OR_RETURN(const auto stat, context_.files.Stat(folder));
    if (!stat.has_value()) {
      // A built-in module has a folder there only if it has parameters.
      ASSIGN_OR_RETURN(const bool built_in, IsListedAsBuiltIn());
      return built_in ? Presence::kBuiltIn : Presence::kNot;
    }
    ASSIGN_OR_RETURN(const std::string state, ReadOrEmpty(absl::StrCat(folder, "/initstate")));
    if (state.empty()) return Presence::kBuiltIn;
    ASSIGN_OR_RETURN(const std::string users, ReadOrEmpty(absl::StrCat(folder, "/refcnt")));
    return absl::StripAsciiWhitespace(users) == "0" ? Presence::kLoaded : Presence::kInUse;
  }

  absl::StatusOr<bool> IsListedAsBuiltIn() {
    ASSIGN_OR_RETURN(const std::string release, KernelRelease());
    ASSIGN_OR_RETURN(const std::string list,
                     ReadOrEmpty(absl::StrCat("/lib/modules/", release, "/modules.builtin")));
    for (absl::string_view line : absl::StrSplit(list, '\n')) {
      line = line.substr(line.rfind('/') + 1);
      if (Canonical(line.substr(0, line.find('.'))) == name_) return true;
    }
    return false;
  }

  absl::Status CheckBuiltIn() const {
    if (spec_.state() == v1::KERNEL_MODULE_STATE_BLACKLISTED)
      return absl::InvalidArgumentError(
          absl::StrCat(name_,
                       " is built into the kernel of the node, so that it cannot be "
                       "blacklisted; the kernel command line can switch it off"));
    if (!spec_.parameters().empty())
      return absl::InvalidArgumentError(
          absl::StrCat(name_,
                       " is built into the kernel of the node, which takes its parameters from the "
                       "kernel command line (",
                       name_, ".key=value) and not from here"));
    return absl::OkStatus();
  }

  // FailedPrecondition: an earlier step may provide the module or modprobe itself.
  absl::Status CheckLoadable() {
    const sys::ProcessSpec spec = {.argv = {"modprobe", "--dry-run", name_},
                                   .timeout = absl::Minutes(1)};
    const absl::StatusOr<sys::ProcessResult> result = context_.processes.Run(spec);
    if (absl::IsNotFound(result.status()))
      return absl::FailedPreconditionError(
          "no modprobe on the node; install the package kmod in an earlier task");
    RETURN_IF_ERROR(result.status());
    if (result->ok()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::string release, KernelRelease());
    return absl::FailedPreconditionError(absl::StrCat(
        "no module ", name_, " for the running kernel (", release,
        "); install its package in an earlier task, or reboot into the kernel that it belongs to (",
        absl::StripAsciiWhitespace(result->output), ")"));
  }

  absl::Status Put(const Wanted& file) {
    if (file.content.empty()) return context_.files.Remove(file.path, /*recursive=*/false);
    ASSIGN_OR_RETURN(const std::string now, ReadOrEmpty(file.path));
    if (now == file.content) return absl::OkStatus();
    RETURN_IF_ERROR(context_.files.MakeDirectory(file.folder, 0755));
    return context_.files.WriteAtomically(file.path, file.content, {.mode = 0644});
  }

  absl::Status Modprobe(std::vector<std::string> arguments, absl::string_view what,
                        ApplyObserver& observer) {
    observer.OnActivity(absl::StrCat(what, " ", name_), std::nullopt);
    sys::ProcessSpec spec = {.timeout = absl::Minutes(5)};
    spec.argv = std::move(arguments);
    spec.argv.insert(spec.argv.begin(), "modprobe");
    spec.on_line = [&observer](absl::string_view line) {
      observer.OnOutput(absl::StrCat(line, "\n"));
    };
    const absl::Status status = sys::RunChecked(context_.processes, spec).status();
    return Annotate(status,
                    absl::StrCat(what, " module ", name_, " (see the end of dmesg on the node)"));
  }

  const v1::KernelModuleResource spec_;
  const std::string name_;  // with '_' for '-'
  ResourceContext& context_;
  const bool want_diff_;
  Wanted files_[2];
};

}  // namespace

absl::StatusOr<std::unique_ptr<Resource>> MakeKernelModule(const v1::Step& step,
                                                           ResourceContext& context,
                                                           bool want_diff) {
  const v1::KernelModuleResource& spec = step.kernel_module();
  RETURN_IF_ERROR(CheckName("name", spec.name()));
  if (absl::EndsWith(spec.name(), ".ko"))
    return absl::InvalidArgumentError(
        absl::StrCat("name: '", spec.name(), "' is a file; leave out the '.ko'"));
  for (const std::string& parameter : spec.parameters()) {
    RETURN_IF_ERROR(CheckOneLine("parameters", parameter));
    if (parameter.empty() || absl::StartsWith(parameter, "="))
      return absl::InvalidArgumentError(
          absl::StrCat("parameters: '", parameter, "' is not key=value"));
  }
  if (!spec.parameters().empty() && spec.state() == v1::KERNEL_MODULE_STATE_ABSENT)
    return absl::InvalidArgumentError("parameters: not allowed for a module that is to be absent");
  return std::make_unique<KernelModule>(spec, context, want_diff);
}

}  // namespace muster::agent
