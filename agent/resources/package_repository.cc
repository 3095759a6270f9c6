#include "agent/resources/makers.h"
#include "agent/resources/package_progress.h"

#include <array>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/resources/check_values.h"
#include "common/base/status.h"
#include "common/base/text/text_diff.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

constexpr char kSourcesFolder[] = "/etc/apt/sources.list.d";
constexpr char kKeyFolder[] = "/etc/apt/keyrings";
constexpr char kPinFolder[] = "/etc/apt/preferences.d";

using Words = google::protobuf::RepeatedPtrField<std::string>;

// The deb822 form of sources.list(5).
std::string Render(const v1::PackageRepositoryResource& spec, const std::string& key_path) {
  std::string text = "# Written by Muster.\n";
  const auto line = [&text](absl::string_view field, const std::string& value) {
    if (!value.empty()) absl::StrAppend(&text, field, ": ", value, "\n");
  };
  line("Types", spec.types().empty() ? "deb" : absl::StrJoin(spec.types(), " "));
  line("URIs", absl::StrJoin(spec.uris(), " "));
  line("Suites", absl::StrJoin(spec.suites(), " "));
  line("Components", absl::StrJoin(spec.components(), " "));
  line("Architectures", absl::StrJoin(spec.architectures(), " "));
  line("Signed-By", spec.key().empty() ? spec.signed_by() : key_path);
  return text;
}

// "http://user@mirror.example:8080/debian" → "mirror.example"; "" for repositories on the node
// itself, as in apt's own names.
std::string HostOf(absl::string_view uri) {
  const size_t scheme = uri.find("://");
  if (scheme == absl::string_view::npos) return "";
  absl::string_view host = uri.substr(scheme + 3);
  host = host.substr(0, host.find('/'));
  if (const size_t at = host.rfind('@'); at != absl::string_view::npos) host.remove_prefix(at + 1);
  if (!host.empty() && host[0] == '[') return std::string(host.substr(1, host.find(']') - 1));
  return std::string(host.substr(0, host.find(':')));
}

// The form of apt_preferences(5).
std::string RenderPins(const v1::PackageRepositoryResource& spec) {
  std::set<std::string> hosts;
  for (const std::string& uri : spec.uris())
    hosts.insert(absl::StrCat("origin \"", HostOf(uri), "\""));
  std::vector<std::string> paragraphs;
  for (const v1::PackagePin& pin : spec.pins()) {
    const std::set<std::string> what = pin.pin().empty() ? hosts : std::set<std::string>{pin.pin()};
    for (const std::string& where : what)
      paragraphs.push_back(
          absl::StrCat("Explanation: Written by Muster.\nPackage: ",
                       pin.packages().empty() ? "*" : absl::StrJoin(pin.packages(), " "),
                       "\nPin: ", where, "\nPin-Priority: ", pin.priority(), "\n"));
  }
  return absl::StrJoin(paragraphs, "\n");
}

class PackageRepository final : public Resource {
 public:
  PackageRepository(v1::PackageRepositoryResource spec, ResourceContext& context, bool want_diff)
      : spec_(std::move(spec)), context_(context), want_diff_(want_diff) {
    files_[0] = {"source", absl::StrCat(kSourcesFolder, "/", spec_.name(), ".sources"), ""};
    files_[1] = {"pins", absl::StrCat(kPinFolder, "/", spec_.name(), ".pref"), ""};
    files_[2] = {"key", absl::StrCat(kKeyFolder, "/", spec_.name(), ".asc"), ""};
    if (IsAbsent()) return;
    files_[0].content = Render(spec_, files_[2].path);
    files_[1].content = RenderPins(spec_);
    if (!spec_.key().empty())
      files_[2].content = absl::StrCat(absl::StripAsciiWhitespace(spec_.key()), "\n");
  }

  std::string Id() const override { return absl::StrCat("package_repository[", spec_.name(), "]"); }

  absl::StatusOr<std::vector<Change>> Check() override {
    std::vector<Change> changes;
    for (const Wanted& wanted : files_) {
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
        absl::StrCat("package repository '", spec_.name(), "' (", absl::StrJoin(spec_.uris(), " "),
                     "): ", status.message(), "\nits earlier state was restored"));
  }

 private:
  struct Wanted {
    const char* field;
    std::string path;
    std::string content;  // empty: no such file
  };
  static constexpr size_t kPins = 1;
  // A source must never exist without the pins that restrict it and the key that verifies it.
  static constexpr std::array<size_t, 3> kSourceFirst = {0, 1, 2};
  static constexpr std::array<size_t, 3> kSourceLast = {2, 1, 0};

  bool IsAbsent() const { return spec_.state() == v1::PRESENCE_ABSENT; }

  absl::StatusOr<std::string> ReadOrEmpty(const std::string& path) {
    auto content = context_.files.Read(path);
    if (absl::IsNotFound(content.status())) return std::string();
    return content;
  }

  absl::Status Put(const std::string& path, const std::string& content) {
    if (content.empty()) return context_.files.Remove(path, /*recursive=*/false);
    ASSIGN_OR_RETURN(const std::string now, ReadOrEmpty(path));
    if (now == content) return absl::OkStatus();
    RETURN_IF_ERROR(context_.files.MakeDirectory(path.substr(0, path.rfind('/')), 0755));
    return context_.files.WriteAtomically(path, content, {.mode = 0644});
  }

  const v1::PackageRepositoryResource spec_;
  ResourceContext& context_;
  const bool want_diff_;
  std::array<Wanted, 3> files_;
};

absl::Status CheckWords(absl::string_view field, const Words& words, bool needed) {
  if (needed && words.empty()) return absl::InvalidArgumentError(absl::StrCat(field, ": is empty"));
  for (const std::string& word : words) {
    RETURN_IF_ERROR(CheckOneLine(field, word));
    if (word.empty() || word.find_first_of(" \t") != std::string::npos)
      return absl::InvalidArgumentError(absl::StrCat(field, ": '", word, "' is not one word"));
  }
  return absl::OkStatus();
}

absl::Status CheckPin(const v1::PackagePin& pin) {
  RETURN_IF_ERROR(CheckWords("pins: packages", pin.packages(), false));
  if (pin.priority() == 0)
    return absl::InvalidArgumentError("pins: a priority of 0 has no meaning");
  if (pin.pin().empty()) return absl::OkStatus();
  RETURN_IF_ERROR(CheckOneLine("pins: pin", pin.pin()));
  for (const char* kind : {"release ", "version ", "origin "})
    if (absl::StartsWith(pin.pin(), kind)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("pins: pin: '", pin.pin(),
                   "' must begin with release, version or origin; see "
                   "apt_preferences(5)"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Resource>> MakePackageRepository(const v1::Step& step,
                                                                ResourceContext& context,
                                                                bool want_diff) {
  const v1::PackageRepositoryResource& spec = step.package_repository();
  RETURN_IF_ERROR(CheckName("name", spec.name()));
  // apt ignores files whose names hold anything else.
  for (const char c : spec.name())
    if (!absl::ascii_isalnum(c) && c != '-' && c != '_' && c != '.')
      return absl::InvalidArgumentError(absl::StrCat(
          "name: '", spec.name(), "' may hold letters, digits, '-', '_' and '.' only"));
  const bool present = spec.state() != v1::PRESENCE_ABSENT;
  RETURN_IF_ERROR(CheckWords("types", spec.types(), false));
  RETURN_IF_ERROR(CheckWords("uris", spec.uris(), present));
  RETURN_IF_ERROR(CheckWords("suites", spec.suites(), present));
  RETURN_IF_ERROR(CheckWords("components", spec.components(), false));
  RETURN_IF_ERROR(CheckWords("architectures", spec.architectures(), false));
  for (const v1::PackagePin& pin : spec.pins()) RETURN_IF_ERROR(CheckPin(pin));
  if (!spec.signed_by().empty()) RETURN_IF_ERROR(CheckPath("signed_by", spec.signed_by()));
  return std::make_unique<PackageRepository>(spec, context, want_diff);
}

}  // namespace muster::agent
