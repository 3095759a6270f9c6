#include "agent/resources/makers.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "agent/resources/check_values.h"
#include "agent/resources/kernel_parameter.h"
#include "common/base/status.h"
#include "common/base/text/text_diff.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

constexpr char kSysctlFolder[] = "/etc/sysctl.d";
constexpr char kPrefix[] = "60-muster-";
// All folders of systemd-sysctl; of files of one name it reads that in the first of them.
constexpr const char* kSysctlFolders[] = {kSysctlFolder, "/run/sysctl.d", "/usr/local/lib/sysctl.d",
                                          "/usr/lib/sysctl.d"};

// A set: a file of /etc/sysctl.d and a record of the values before, by `kind` and `name`. A single
// parameter is a set named after it; keys have a dot, and names of sets have none.
//
// A key is in the record before it is set, and stays there until the file says that it no longer
// is: a crash in between leaves a file that differs, and so another attempt.
class SysctlSet final : public Resource {
 public:
  // The kernel may lack those of `wanted` that are in `optional`.
  SysctlSet(std::string kind, std::string name, KernelParameters wanted, ParameterNames optional,
            ResourceContext& context, bool want_diff)
      : kind_(std::move(kind)),
        name_(std::move(name)),
        wanted_(std::move(wanted)),
        optional_(std::move(optional)),
        context_(context),
        want_diff_(want_diff),
        file_(absl::StrCat(kSysctlFolder, "/", kPrefix, name_, ".conf")),
        content_(wanted_.empty() ? "" : FormatParameters(wanted_, optional_)) {}

  std::string Id() const override { return absl::StrCat(kind_, "[", name_, "]"); }

  absl::StatusOr<std::vector<Change>> Check() override {
    RETURN_IF_ERROR(CheckLaterFiles());
    std::vector<Change> changes;
    if (context_.is_running) RETURN_IF_ERROR(CompareRunning(changes));
    ASSIGN_OR_RETURN(const std::string file, ReadOrEmpty(file_));
    if (file != content_)
      changes.push_back({"at boot", file.empty() ? "absent" : "present",
                         content_.empty() ? "absent"
                         : file.empty()   ? "present"
                                          : "changed",
                         want_diff_ ? UnifiedDiff(file, content_, file_) : ""});
    return changes;
  }

  absl::Status Apply(ApplyObserver& observer) override {
    if (!context_.is_running) return PutFile();
    ASSIGN_OR_RETURN(const KernelParameters recorded, Record());
    KernelParameters before = recorded;
    KernelParameters to_set;
    for (const auto& [key, value] : wanted_) {
      ASSIGN_OR_RETURN(const std::optional<std::string> now, ReadWanted(key, value));
      if (!now.has_value()) continue;
      before.emplace(key, *now);
      if (*now != value) to_set.emplace(key, value);
    }
    if (before != recorded) RETURN_IF_ERROR(Remember(before));
    ASSIGN_OR_RETURN(const KernelParameters undo, ToUndo(before));
    for (const auto& [key, value] : undo) {
      ASSIGN_OR_RETURN(const auto now, ReadParameter(key, context_.files));
      if (now.has_value() && *now != value) to_set.emplace(key, value);
    }
    for (const auto& [key, value] : to_set)
      RETURN_IF_ERROR(WriteParameter(key, value, context_.files));
    KernelParameters kept;
    for (const auto& [key, value] : before)
      if (wanted_.count(key) > 0) kept.emplace(key, value);
    if (kept != before) RETURN_IF_ERROR(Remember(kept));
    return PutFile();
  }

 private:
  // The present value; nullopt: the kernel lacks the parameter, as it may.
  absl::StatusOr<std::optional<std::string>> ReadWanted(const std::string& key,
                                                        const std::string& value) {
    if (optional_.count(key) > 0) {
      ASSIGN_OR_RETURN(const std::optional<std::string> now, ReadParameter(key, context_.files));
      if (!now.has_value()) return std::optional<std::string>();
    }
    ASSIGN_OR_RETURN(std::string now, ReadParameterToSet(key, value, context_.files));
    return std::optional<std::string>(std::move(now));
  }

  // Compares with the kernel that is running.
  absl::Status CompareRunning(std::vector<Change>& changes) {
    for (const auto& [key, value] : wanted_) {
      ASSIGN_OR_RETURN(std::optional<std::string> now, ReadWanted(key, value));
      if (now.has_value() && *now != value) changes.push_back({key, *std::move(now), value});
    }
    ASSIGN_OR_RETURN(const KernelParameters before, Record());
    ASSIGN_OR_RETURN(const KernelParameters undo, ToUndo(before));
    for (const auto& [key, value] : undo) {
      ASSIGN_OR_RETURN(const auto now, ReadParameter(key, context_.files));
      if (now.has_value() && *now != value) changes.push_back({key, *now, value});
    }
    return absl::OkStatus();
  }

  // The boot reads all files in the order of their names, and the last value of a key counts. Files
  // of other sets are left out: one of them may be about to give the key away.
  absl::Status CheckLaterFiles() {
    if (wanted_.empty()) return absl::OkStatus();
    std::map<std::string, std::string> paths;  // by name
    for (const char* folder : kSysctlFolders) {
      const auto names = context_.files.List(folder);
      if (absl::IsNotFound(names.status())) continue;
      RETURN_IF_ERROR(names.status());
      for (const std::string& name : *names)
        if (absl::EndsWith(name, ".conf")) paths.emplace(name, absl::StrCat(folder, "/", name));
    }
    std::map<std::string, std::string> others;  // where a key gets another value, by key
    for (auto file = paths.upper_bound(absl::StrCat(kPrefix, name_, ".conf")); file != paths.end();
         ++file) {
      if (absl::StartsWith(file->first, kPrefix)) continue;
      const absl::StatusOr<std::string> text = context_.files.Read(file->second);
      if (!text.ok()) continue;  // a link to /dev/null or to nothing, which sets nothing
      for (const auto& [key, value] : wanted_) {
        const std::optional<ParameterLine> line = FindParameter(*text, key);
        if (!line.has_value()) continue;
        others.erase(key);
        if (line->value != value)
          others[key] = absl::StrCat(WithTarget(file->second), ", line ", line->number, ", sets ",
                                     key, " to ", line->value);
      }
    }
    if (others.empty()) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat(others.begin()->second, " on the node, and the boot reads it after ", file_,
                     "; remove the line in an earlier task (line, with state: absent), or hide a "
                     "package's file with one of the same name in ",
                     kSysctlFolder));
  }

  // "/etc/sysctl.d/99-sysctl.conf (../sysctl.conf)": where a link leads.
  std::string WithTarget(const std::string& path) {
    const absl::StatusOr<std::string> target = context_.files.ReadLink(path);
    return target.ok() ? absl::StrCat(path, " (", *target, ")") : path;
  }

  absl::StatusOr<std::string> ReadOrEmpty(const std::string& path) {
    auto content = context_.files.Read(path);
    if (absl::IsNotFound(content.status())) return std::string();
    return content;
  }

  // The values before Muster set them.
  absl::StatusOr<KernelParameters> Record() {
    ASSIGN_OR_RETURN(const auto record, context_.records.Get(kind_, name_));
    return ParseParameters(record.value_or(""));
  }

  absl::Status Remember(const KernelParameters& before) {
    if (before.empty()) return context_.records.Remove(kind_, name_);
    return context_.records.Put(kind_, name_, FormatParameters(before));
  }

  // For keys that were set once and are no longer wanted: the values to restore. Keys that another
  // set has taken over stay.
  absl::StatusOr<KernelParameters> ToUndo(const KernelParameters& before) {
    KernelParameters undo;
    for (const auto& [key, value] : before)
      if (wanted_.count(key) == 0) undo.emplace(key, value);
    if (undo.empty()) return undo;
    const auto names = context_.files.List(kSysctlFolder);
    if (absl::IsNotFound(names.status())) return undo;
    RETURN_IF_ERROR(names.status());
    for (const std::string& name : *names) {
      const std::string path = absl::StrCat(kSysctlFolder, "/", name);
      if (!absl::StartsWith(name, kPrefix) || path == file_) continue;
      ASSIGN_OR_RETURN(const std::string content, ReadOrEmpty(path));
      for (const auto& [key, value] : ParseParameters(content)) undo.erase(key);
    }
    return undo;
  }

  absl::Status PutFile() {
    if (content_.empty()) return context_.files.Remove(file_, /*recursive=*/false);
    ASSIGN_OR_RETURN(const std::string now, ReadOrEmpty(file_));
    if (now == content_) return absl::OkStatus();
    RETURN_IF_ERROR(context_.files.MakeDirectory(kSysctlFolder, 0755));
    return context_.files.WriteAtomically(file_, content_, {.mode = 0644});
  }

  const std::string kind_;
  const std::string name_;
  const KernelParameters wanted_;
  const ParameterNames optional_;
  ResourceContext& context_;
  const bool want_diff_;
  const std::string file_;
  const std::string content_;  // of the file; empty: there must be none
};

absl::Status Add(absl::string_view key, absl::string_view value, KernelParameters* parameters) {
  ASSIGN_OR_RETURN(std::string canonical, CanonicalParameter(key));
  RETURN_IF_ERROR(CheckOneLine(absl::StrCat("value of ", key), value));
  if (!parameters->emplace(canonical, CanonicalValue(value)).second)
    return absl::InvalidArgumentError(absl::StrCat("values: ", canonical, " is listed twice"));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Resource>> MakeSysctl(const v1::Step& step, ResourceContext& context,
                                                     bool want_diff) {
  const v1::SysctlResource& spec = step.sysctl();
  ASSIGN_OR_RETURN(std::string key, CanonicalParameter(spec.key()));
  KernelParameters wanted;
  if (spec.state() != v1::PRESENCE_ABSENT) RETURN_IF_ERROR(Add(spec.key(), spec.value(), &wanted));
  return std::make_unique<SysctlSet>("sysctl", std::move(key), std::move(wanted), ParameterNames(),
                                     context, want_diff);
}

absl::StatusOr<std::unique_ptr<Resource>> MakeSysctls(const v1::Step& step,
                                                      ResourceContext& context, bool want_diff) {
  const v1::SysctlSetResource& spec = step.sysctls();
  RETURN_IF_ERROR(CheckSetName(spec.name()));
  KernelParameters wanted;
  ParameterNames optional;
  for (const auto& [name, value] : spec.values()) {
    absl::string_view key = name;
    const bool is_optional = absl::ConsumePrefix(&key, "-");
    RETURN_IF_ERROR(Add(key, value, &wanted));
    if (!is_optional) continue;
    ASSIGN_OR_RETURN(std::string canonical, CanonicalParameter(key));
    optional.insert(std::move(canonical));
  }
  return std::make_unique<SysctlSet>("sysctls", spec.name(), std::move(wanted), std::move(optional),
                                     context, want_diff);
}

}  // namespace muster::agent
