#include "agent/resources/mount_unit.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/resources/check_values.h"
#include "common/base/status.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

constexpr char kOwnerLine[] = "# Written by Muster for ";

// systemd itself orders these after the network.
constexpr const char* kNetworkTypes[] = {"nfs",  "nfs4",       "cifs", "smb3",
                                         "ceph", "glusterfs",  "gfs2", "lustre",
                                         "afs",  "fuse.sshfs", "ocfs2"};

// fstab(5) options for systemd's generator; in a unit they would have no effect.
struct FstabWord {
  const char* word;
  const char* remedy;
};
constexpr FstabWord kFstabWords[] = {
    {"noauto", "write state: defined"},
    {"auto", "leave it out"},
    {"x-systemd.", "write `after`, or a drop-in of the unit with `file`"},
};

// xfs(5), "MOUNT OPTIONS": a remount succeeds without these and changes nothing.
constexpr const char* kXfsQuotaWords[] = {"quota",       "usrquota", "uquota",      "qnoenforce",
                                          "uqnoenforce", "grpquota", "gquota",      "gqnoenforce",
                                          "prjquota",    "pquota",   "pqnoenforce", "noquota"};

bool IsNetwork(absl::string_view type, absl::string_view options) {
  const auto is = [type](const char* network) { return type == network; };
  if (std::any_of(std::begin(kNetworkTypes), std::end(kNetworkTypes), is)) return true;
  const std::vector<absl::string_view> words = absl::StrSplit(options, ',');
  return std::find(words.begin(), words.end(), "_netdev") != words.end();
}

// '%' begins a specifier in a unit.
std::string Escaped(absl::string_view value) { return absl::StrReplaceAll(value, {{"%", "%%"}}); }
std::string Unescaped(absl::string_view value) { return absl::StrReplaceAll(value, {{"%%", "%"}}); }

absl::Status CheckValue(absl::string_view field, const std::string& value) {
  RETURN_IF_ERROR(CheckOneLine(field, value));
  if (value != absl::StripAsciiWhitespace(value))
    return absl::InvalidArgumentError(absl::StrCat(field, ": '", value, "' has blanks around it"));
  if (absl::EndsWith(value, "\\"))
    return absl::InvalidArgumentError(
        absl::StrCat(field, ": '", value, "' ends with a backslash, which a unit cannot hold"));
  return absl::OkStatus();
}

// A field of fstab(5): "\040" is a blank.
std::string FstabField(absl::string_view field) {
  return absl::StrReplaceAll(field,
                             {{"\\040", " "}, {"\\011", "\t"}, {"\\012", "\n"}, {"\\134", "\\"}});
}

}  // namespace

std::string MountUnitName(absl::string_view path) {
  std::string name;
  path.remove_prefix(1);
  for (size_t i = 0; i < path.size(); ++i) {
    const unsigned char c = static_cast<unsigned char>(path[i]);
    if (c == '/') {
      name += '-';
    } else if (absl::ascii_isalnum(c) || c == ':' || c == '_' || (c == '.' && i > 0)) {
      name += static_cast<char>(c);
    } else {
      absl::StrAppend(&name, absl::StrFormat("\\x%02x", c));
    }
  }
  return absl::StrCat(name, ".mount");
}

absl::Status CheckMount(const v1::MountResource& spec) {
  RETURN_IF_ERROR(CheckPath("path", spec.path()));
  RETURN_IF_ERROR(CheckValue("path", spec.path()));
  if (MountUnitName(spec.path()).size() > 255)
    return absl::InvalidArgumentError(
        absl::StrCat("path: '", spec.path(), "' is too long for the name of a unit"));
  if (spec.state() == v1::MOUNT_STATE_ABSENT) return absl::OkStatus();
  RETURN_IF_ERROR(CheckValue("source", spec.source()));
  if (spec.source().empty()) return absl::InvalidArgumentError("source: is empty");
  RETURN_IF_ERROR(CheckName("type", spec.fs_type()));
  for (const std::string& option : spec.options()) {
    RETURN_IF_ERROR(CheckValue("options", option));
    for (const absl::string_view word : absl::StrSplit(option, ',')) {
      for (const FstabWord& row : kFstabWords) {
        const bool prefix = absl::EndsWith(row.word, ".");
        if (word != row.word && !(prefix && absl::StartsWith(word, row.word))) continue;
        return absl::InvalidArgumentError(absl::StrCat(
            "options: '", word, "' is an option for fstab that has no effect here; ", row.remedy));
      }
    }
  }
  for (const std::string& unit : spec.after()) {
    RETURN_IF_ERROR(CheckName("after", unit));
    if (!absl::StrContains(unit, '.'))
      return absl::InvalidArgumentError(
          absl::StrCat("after: '", unit, "' has no suffix; write '", unit, ".service'"));
  }
  return absl::OkStatus();
}

MountUnit MakeMountUnit(const v1::MountResource& spec, absl::string_view owner) {
  MountUnit unit = {.owner = std::string(owner),
                    .source = spec.source(),
                    .type = spec.fs_type(),
                    .options = absl::StrJoin(spec.options(), ","),
                    .after = absl::StrJoin(spec.after(), " ")};
  // systemd wants local file systems before any service: one that comes after a service would form
  // an ordering cycle.
  if (!unit.after.empty() && !IsNetwork(unit.type, unit.options))
    absl::StrAppend(&unit.options, unit.options.empty() ? "" : ",", "_netdev");
  unit.wanted_by = IsNetwork(unit.type, unit.options) ? "remote-fs.target" : "local-fs.target";
  return unit;
}

std::string FormatMountUnit(const MountUnit& unit, absl::string_view path) {
  std::string text =
      absl::StrCat(kOwnerLine, unit.owner, "\n[Unit]\nDescription=", Escaped(path), "\n");
  // Not Requires=: restarting the service would unmount file systems that jobs use.
  if (!unit.after.empty())
    absl::StrAppend(&text, "Wants=", unit.after, "\nAfter=", unit.after, "\n");
  absl::StrAppend(&text, "\n[Mount]\nWhat=", Escaped(unit.source), "\nWhere=", Escaped(path),
                  "\nType=", unit.type, "\n");
  if (!unit.options.empty()) absl::StrAppend(&text, "Options=", Escaped(unit.options), "\n");
  absl::StrAppend(&text, "\n[Install]\nWantedBy=", unit.wanted_by, "\n");
  return text;
}

MountUnit ParseMountUnit(absl::string_view text) {
  MountUnit unit;
  const struct {
    const char* key;
    std::string* value;
  } kKeys[] = {{kOwnerLine, &unit.owner}, {"What=", &unit.source},
               {"Type=", &unit.type},     {"Options=", &unit.options},
               {"After=", &unit.after},   {"WantedBy=", &unit.wanted_by}};
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    for (const auto& row : kKeys) {
      if (absl::ConsumePrefix(&line, row.key)) *row.value = Unescaped(line);
    }
  }
  return unit;
}

std::string XfsQuotas(const MountUnit& unit) {
  std::set<absl::string_view> words;
  if (unit.type != "xfs") return "";
  for (const absl::string_view word : absl::StrSplit(unit.options, ',')) {
    if (std::find(std::begin(kXfsQuotaWords), std::end(kXfsQuotaWords), word) !=
        std::end(kXfsQuotaWords))
      words.insert(word);
  }
  return absl::StrJoin(words, ",");
}

std::optional<int> FindInFstab(absl::string_view fstab, absl::string_view path) {
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(fstab, '\n')) {
    ++number;
    const std::vector<absl::string_view> fields =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    if (fields.size() < 2 || absl::StartsWith(fields[0], "#")) continue;
    std::string where = FstabField(fields[1]);
    while (where.size() > 1 && where.back() == '/') where.pop_back();
    if (where == path) return number;
  }
  return std::nullopt;
}

}  // namespace muster::agent
