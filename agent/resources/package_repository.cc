#include "agent/resources/package_repository.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/resources/check_values.h"
#include "common/base/status.h"
#include "common/base/text_diff.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

constexpr char kSourcesFolder[] = "/etc/apt/sources.list.d";
constexpr char kKeyFolder[] = "/etc/apt/keyrings";

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

class PackageRepository final : public Resource {
 public:
  PackageRepository(v1::PackageRepositoryResource spec, ResourceContext& context, bool want_diff)
      : spec_(std::move(spec)), context_(context), want_diff_(want_diff) {
    files_[0] = {"source", absl::StrCat(kSourcesFolder, "/", spec_.name(), ".sources"), ""};
    files_[1] = {"key", absl::StrCat(kKeyFolder, "/", spec_.name(), ".asc"), ""};
    if (spec_.state() == v1::PRESENCE_ABSENT) return;
    files_[0].content = Render(spec_, files_[1].path);
    if (!spec_.key().empty())
      files_[1].content = absl::StrCat(absl::StripAsciiWhitespace(spec_.key()), "\n");
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
    std::string before[2];
    for (size_t i = 0; i < 2; ++i) {
      ASSIGN_OR_RETURN(before[i], ReadOrEmpty(files_[i].path));
    }
    // The key first: a source must never stand without the key that checks it.
    for (const size_t i : {1, 0}) RETURN_IF_ERROR(Put(files_[i].path, files_[i].content));
    const PackageObserver packages = {
        .on_activity =
            [&observer](absl::string_view activity, std::optional<float> percent) {
              observer.OnActivity(activity, percent);
            },
        .on_output =
            [&observer](absl::string_view line) { observer.OnOutput(absl::StrCat(line, "\n")); }};
    const absl::Status status = context_.packages.Update(absl::ZeroDuration(), packages);
    if (status.ok()) return status;
    // Back to what was there: every later use of apt-get would fail on this source, and the next
    // run would find nothing to do here.
    for (const size_t i : {0, 1}) RETURN_IF_ERROR(Put(files_[i].path, before[i]));
    return Annotate(status,
                    absl::StrCat("package repository '", spec_.name(), "' (",
                                 absl::StrJoin(spec_.uris(), " "), ") was put back as it was"));
  }

 private:
  struct Wanted {
    const char* field;
    std::string path;
    std::string content;  // empty: no such file
  };

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
  Wanted files_[2];
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

}  // namespace

absl::StatusOr<std::unique_ptr<Resource>> MakePackageRepository(const v1::Step& step,
                                                                ResourceContext& context,
                                                                bool want_diff) {
  const v1::PackageRepositoryResource& spec = step.package_repository();
  RETURN_IF_ERROR(CheckName("name", spec.name()));
  // apt passes over files whose names hold anything else.
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
  if (!spec.signed_by().empty()) RETURN_IF_ERROR(CheckPath("signed_by", spec.signed_by()));
  return std::make_unique<PackageRepository>(spec, context, want_diff);
}

}  // namespace muster::agent
