#include "common/image/definition.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status.h"
#include "common/base/text/plain_text.h"
#include "common/image/distribution.h"
#include "common/yaml/map_reader.h"

namespace muster::image {
namespace {

constexpr size_t kMaxName = 64;
constexpr size_t kMaxWord = 256;
constexpr size_t kMaxShown = 80;

bool IsPlain(char c, absl::string_view also) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains(also, c);
}

bool IsWord(absl::string_view text, absl::string_view also) {
  return !text.empty() && text.size() <= kMaxWord &&
         absl::ascii_isalnum(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return IsPlain(c, also); });
}

// Each of them becomes a word of a command's arguments, so that none may look like an option.
bool IsPackage(absl::string_view text) { return IsWord(text, ".+-:=~"); }
bool IsName(absl::string_view text) { return IsWord(text, "._-"); }
bool IsKernelArgument(absl::string_view text) { return IsWord(text, "._-=,:/@+%"); }
bool IsPathPattern(absl::string_view text) {
  return absl::StartsWith(text, "/") && text.size() <= kMaxWord && !absl::StrContains(text, "..") &&
         std::all_of(text.begin(), text.end(), [](char c) { return IsPlain(c, "/._+-*?[]@~"); });
}

bool IsFolder(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '/');
  return std::all_of(parts.begin(), parts.end(), IsName);
}

// A list of the definition: what its words may be, and how to say so.
struct ListRule {
  const char* key;
  bool (*is_good)(absl::string_view text);
  const char* form;
};
constexpr ListRule kPackages{"packages", IsPackage, "the name of a package, as in chrony"};
constexpr ListRule kFiles{"files", IsFolder,
                          "the path of a folder below images/, as in debian-worker/files"};
constexpr ListRule kRoles{"roles", IsName, "the name of a role, as in slurm_worker"};
constexpr ListRule kGroups{"groups", IsName, "the name of a group of the inventory"};
constexpr ListRule kArguments{"kernel_arguments", IsKernelArgument,
                              "one argument of the kernel, as in console=ttyS0"};
constexpr ListRule kLeaveOut{"leave_out", IsPathPattern,
                             "a pattern of absolute paths, as in /usr/share/man/*"};

absl::Status ReadList(const yaml::Document& document, yaml::MapReader& reader, const ListRule& rule,
                      std::vector<Reference>& out) {
  const yaml::Node* const list = reader.Take(rule.key);
  if (list == nullptr) return absl::OkStatus();
  std::vector<std::string> words;
  RETURN_IF_ERROR(yaml::Read(document, *list, &words));
  std::set<std::string> seen;
  for (size_t i = 0; i < words.size(); ++i) {
    const yaml::Node& node = list->IsSequence() ? list->items()[i] : *list;
    const std::string shown = PlainText(words[i], Lines::kOne, kMaxShown);
    if (!rule.is_good(words[i]))
      return document.Error(node, absl::StrCat("'", shown, "' is not ", rule.form));
    if (!seen.insert(words[i]).second)
      return document.Error(node, absl::StrCat("'", shown, "' occurs twice"));
    out.push_back({words[i], node});
  }
  return absl::OkStatus();
}

absl::Status ReadWords(const yaml::Document& document, yaml::MapReader& reader,
                       const ListRule& rule, std::vector<std::string>& out) {
  std::vector<Reference> words;
  RETURN_IF_ERROR(ReadList(document, reader, rule, words));
  for (Reference& word : words) out.push_back(std::move(word.text));
  return absl::OkStatus();
}

absl::Status CheckDistribution(const yaml::Document& document, const Definition& definition) {
  if (const Distribution* const found = FindDistribution(definition.distribution);
      found != nullptr) {
    if (definition.kind != kDiskKind || found->instead.empty()) return absl::OkStatus();
    return document.Error(
        *document.root().Find("kind"),
        absl::StrCat(found->name, " has no boot loader for images of the kind disk; write ",
                     "ram, or 'distribution: ", found->instead, "'"));
  }
  std::vector<absl::string_view> names;
  for (const Distribution& each : Distributions()) names.push_back(each.name);
  return document.Error(*document.root().Find("distribution"),
                        absl::StrCat("images cannot be built of '",
                                     PlainText(definition.distribution, Lines::kOne, kMaxShown),
                                     "', but of ", absl::StrJoin(names, ", ")));
}

}  // namespace

bool IsImageName(absl::string_view name) { return IsName(name) && name.size() <= kMaxName; }

std::string DefinitionPath(absl::string_view name) {
  return absl::StrCat(kImageFolder, "/", name, "/", kDefinitionFile);
}

absl::StatusOr<Definition> ParseDefinition(absl::string_view name, absl::string_view path,
                                           absl::string_view text) {
  if (!IsImageName(name))
    return absl::InvalidArgumentError(absl::StrCat(
        "'", PlainText(name, Lines::kOne, kMaxShown),
        "' is not a name of an image: letters, digits, '.', '_' and '-', at most ", kMaxName));
  Definition out;
  out.name = std::string(name);
  ASSIGN_OR_RETURN(out.document, yaml::Document::Parse(path, text));
  const yaml::Document& document = out.document;
  yaml::MapReader reader(document, document.root(), "image");
  RETURN_IF_ERROR(reader.Optional("description", &out.description));
  RETURN_IF_ERROR(reader.Required("kind", &out.kind));
  if (out.kind != kRamKind && out.kind != kDiskKind)
    return document.Error(
        *document.root().Find("kind"),
        absl::StrCat("'", PlainText(out.kind, Lines::kOne, kMaxShown),
                     "' is not a kind of image; write ram, whose changes stay in memory, or disk, "
                     "which is written to a disk and boots from there"));
  RETURN_IF_ERROR(reader.Required("distribution", &out.distribution));
  RETURN_IF_ERROR(CheckDistribution(document, out));
  RETURN_IF_ERROR(reader.Optional("snapshot", &out.snapshot));
  if (!out.snapshot.empty() && !IsName(out.snapshot))
    return document.Error(*document.root().Find("snapshot"),
                          "that is not the name of a snapshot; `muster snapshot list` shows them");
  RETURN_IF_ERROR(reader.Required("kernel", &out.kernel));
  if (!IsPackage(out.kernel))
    return document.Error(*document.root().Find("kernel"),
                          "that is not the name of a package, as in linux-image-amd64");
  RETURN_IF_ERROR(ReadWords(document, reader, kPackages, out.packages));
  RETURN_IF_ERROR(ReadList(document, reader, kFiles, out.files));
  RETURN_IF_ERROR(ReadList(document, reader, kRoles, out.roles));
  RETURN_IF_ERROR(ReadList(document, reader, kGroups, out.groups));
  RETURN_IF_ERROR(reader.Optional("variables", &out.variables));
  if (!out.variables.IsNull() && !out.variables.IsMap())
    return document.Error(out.variables, "'variables' is not a map of names to values");
  RETURN_IF_ERROR(ReadWords(document, reader, kArguments, out.kernel_arguments));
  RETURN_IF_ERROR(ReadWords(document, reader, kLeaveOut, out.leave_out));
  const yaml::Node* const disk = reader.Take("disk");
  if (disk != nullptr && out.kind != kDiskKind)
    return document.Error(*disk, "only images of the kind disk have a section 'disk'");
  if (disk != nullptr) RETURN_IF_ERROR(ReadDiskSection(document, *disk, out.disk));
  RETURN_IF_ERROR(reader.Finish());
  return out;
}

}  // namespace muster::image
