#include "controller/playbook/schema/schema.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/text/image_name.h"
#include "controller/playbook/schema/schema_sets.h"

namespace muster::controller::playbook {
namespace {

using Type = ParamType;

std::string Names(const std::vector<const char*>& keys, absl::string_view last) {
  std::string names;
  for (size_t i = 0; i < keys.size(); ++i) {
    absl::StrAppend(&names, i == 0 ? "" : i + 1 == keys.size() ? last : ", ", keys[i]);
  }
  return names;
}

// Two of the keys exclude each other, unless a template may leave one of them empty.
std::string AtMostOne(const Given& given, const std::vector<const char*>& keys) {
  std::vector<const char*> found;
  for (const char* key : keys) {
    if (given.Has(key) && given.IsConstant(key)) found.push_back(key);
  }
  if (found.size() < 2) return "";
  return absl::StrCat("has ", Names(found, " and "), ", but takes only one of ",
                      Names(keys, " or "));
}

std::string ExactlyOne(const Given& given, const std::vector<const char*>& keys,
                       absl::string_view why) {
  if (std::none_of(keys.begin(), keys.end(), [&](const char* key) { return given.Has(key); })) {
    return absl::StrCat("lacks one of ", Names(keys, " or "), why);
  }
  return AtMostOne(given, keys);
}

std::string CheckPackage(const Given& given) {
  std::string wrong = ExactlyOne(given, {"name", "names"}, "");
  if (wrong.empty() && given.Has("version")) {
    const std::string state = given.Text("state").value_or("");
    if (state == "latest" || state == "absent") {
      wrong = absl::StrCat("has a version and state ", state, ": remove one of them");
    }
  }
  if (wrong.empty() && given.Has("purge") && given.CertainlyPresent()) {
    wrong = "has 'purge', which applies only to state: absent";
  }
  if (wrong.empty() && given.Has("hold") && given.Text("state") == "absent") {
    wrong = "has 'hold', but its state is absent: an absent package cannot be held";
  }
  if (wrong.empty() && given.Has("allow_downgrade") && !given.Has("version") &&
      given.Text("state").value_or("latest") != "latest") {
    wrong = "has 'allow_downgrade' without a version";
  }
  return wrong;
}

std::string CheckRepository(const Given& given) {
  const std::string wrong = AtMostOne(given, {"key", "key_file", "signed_by"});
  if (wrong.empty() && given.Text("state") == "absent") {
    for (const char* key : {"key", "key_file", "signed_by", "pins"}) {
      if (given.Has(key)) return absl::StrCat("has '", key, "', but its state is absent");
    }
  }
  if (!wrong.empty()) return wrong;
  if (given.Has("base_urls")) {
    for (const char* key : {"uris", "suites", "components", "types", "architectures"}) {
      if (given.Has(key))
        return absl::StrCat("has 'base_urls', which is for dnf, and '", key, "', which is for apt");
    }
    return "";
  }
  if (given.Has("signed_metadata")) return "has 'signed_metadata' without base_urls";
  if (!given.CertainlyPresent()) return "";
  for (const char* key : {"uris", "suites"}) {
    if (!given.Has(key)) return absl::StrCat("lacks '", key, "'");
  }
  return "";
}

std::string CheckModule(const Given& given) {
  if (given.CertainlyPresent() && !given.Has("stream")) return "lacks 'stream'";
  if (given.Text("state") == "absent" && given.Has("stream")) {
    return "has 'stream', but its state is absent";
  }
  return "";
}

std::string CheckFile(const Given& given) {
  if (given.CertainlyPresent()) {
    return ExactlyOne(given, {"content", "template", "source"}, " (what the file should hold)");
  }
  if (given.Text("state") == "absent") {
    for (const char* key : {"content", "template", "source", "validate", "only_if_missing"}) {
      if (given.Has(key)) return absl::StrCat("has '", key, "', but its state is absent");
    }
  }
  return AtMostOne(given, {"content", "template", "source"});
}

std::string CheckDirectory(const Given& given) {
  if (given.Has("recursive") && given.CertainlyPresent()) {
    return "has 'recursive', which applies only to state: absent";
  }
  return "";
}

std::string CheckSymlink(const Given& given) {
  if (given.CertainlyPresent() && !given.Has("target")) return "lacks 'target'";
  return "";
}

std::string CheckUnit(const Given& given) {
  if (!given.Has("state") && !given.Has("enabled") && !given.Has("masked")) {
    return "lacks one of state, enabled or masked";
  }
  const std::string state = given.Text("state").value_or("");
  if (!given.in_handler() && (state == "restarted" || state == "reloaded")) {
    return absl::StrCat("would be ", state,
                        " at every apply: move it to a handler and notify that");
  }
  return "";
}

std::string CheckReboot(const Given& given) {
  if (given.Has("image") && given.Has("when"))
    return "has 'image' and 'when': with an image the node reboots if it runs another one";
  if (!given.in_handler() && given.Text("when") == "always") {
    return "would reboot the node at every apply: move it to a handler and notify that, or set "
           "when: required";
  }
  return "";
}

std::string CheckCommand(const Given& given) {
  const std::vector<const char*> keys = {"creates", "unless", "changes"};
  if (given.in_handler()) return AtMostOne(given, keys);
  return ExactlyOne(given, keys, ": false, so that a second apply can change nothing");
}

// The first of `keys` that makes no sense when the thing is to be removed.
std::string OnlyWhenPresent(const Given& given, const std::vector<const char*>& keys) {
  if (given.Text("state") != "absent") return "";
  for (const char* key : keys) {
    if (given.Has(key)) return absl::StrCat("has '", key, "', but its state is absent");
  }
  return "";
}

std::string CheckLine(const Given& given) {
  if (given.CertainlyPresent() && !given.Has("line")) return "lacks 'line'";
  if (!given.Has("line") && !given.Has("match") && !given.Has("key")) {
    return "lacks one of line, match or key (the lines to remove)";
  }
  const std::string wrong = OnlyWhenPresent(given, {"insert_after", "create"});
  return wrong.empty() ? AtMostOne(given, {"match", "key"}) : wrong;
}

std::string CheckSysctl(const Given& given) {
  if (given.CertainlyPresent() && !given.Has("value")) return "lacks 'value'";
  const std::string key = given.Text("key").value_or("a.b");
  if (key.find_first_of("./") == std::string::npos) {
    return absl::StrCat("has the key '", key, "' without its folder, such as vm.", key);
  }
  return OnlyWhenPresent(given, {"value"});
}

std::string CheckKernelModule(const Given& given) { return OnlyWhenPresent(given, {"parameters"}); }

std::string CheckArchive(const Given& given) {
  const std::string wrong =
      OnlyWhenPresent(given, {"urls", "source", "sha256", "strip_components", "owner", "group"});
  if (!wrong.empty() || !given.CertainlyPresent()) return wrong;
  if (given.Has("urls") && !given.Has("sha256")) {
    return "lacks 'sha256': an archive from the network is unpacked only if its digest matches";
  }
  return ExactlyOne(given, {"urls", "source"}, " (where the archive comes from)");
}

std::string CheckFileSystem(const Given& given) {
  // "/dev/sdb": the kernel numbers disks in the order in which it finds them.
  const std::string device = given.Text("device").value_or("");
  if (absl::StartsWith(device, "/dev/") && device.find('/', 5) == std::string::npos) {
    return absl::StrCat("has the device '", device,
                        "', a name that may mean another disk after the next boot: name the disk "
                        "by its link in /dev/disk/by-id");
  }
  return "";
}

std::string CheckFilesIn(const Given& given) {
  if (given.Has("keep") && !given.Has("purge")) return "has 'keep', which applies only with purge";
  return "";
}

std::string CheckContainerImage(const Given& given) {
  const std::string runtime = given.Text("runtime").value_or("");
  if (runtime == "enroot") {
    if (!given.Has("path")) return "lacks 'path', the file for enroot's image";
    if (given.Has("archive")) {
      return "has 'archive', which enroot does not import: put its file in place by a download";
    }
  } else if (!runtime.empty() && given.Has("path")) {
    return absl::StrCat("has 'path', but ", runtime, " keeps images in a storage of its own");
  }
  const std::string wrong =
      OnlyWhenPresent(given, {"archive", "sha256", "max_bytes", "min_free_bytes", "timeout"});
  if (!wrong.empty() || !given.CertainlyPresent()) return wrong;
  if (given.Has("archive") != given.Has("sha256")) {
    return given.Has("archive")
               ? "lacks 'sha256': an archive is imported only if its digest matches"
               : "has 'sha256' without an archive: pin the image itself by @sha256:";
  }
  const std::optional<std::string> image = given.Text("image");
  if (!image.has_value()) return "";
  const absl::Status named =
      given.Has("archive") ? CheckTaggedImage(*image) : CheckPinnedImage(*image);
  return named.ok() ? "" : absl::StrCat("has an image that cannot be used: ", named.message());
}

}  // namespace

bool Given::CertainlyPresent() const {
  const std::optional<std::string> state = Text("state");
  return state.has_value() && *state != "absent";
}

const Param* FindParam(const std::vector<Param>& params, absl::string_view key) {
  const auto found = std::find_if(params.begin(), params.end(),
                                  [&](const Param& param) { return param.key == key; });
  return found == params.end() ? nullptr : &*found;
}

std::vector<std::string> KeysOf(const std::vector<Param>& params) {
  std::vector<std::string> keys;
  for (const Param& param : params) keys.emplace_back(param.key);
  return keys;
}

const std::vector<ResourceType>& ResourceTypes() {
  static const auto* const kTypes = new std::vector<ResourceType>{
      {"package",
       {{"name", Type::kTextList, "names"},
        {"names", Type::kTextList, "names"},
        {"state", Type::kWord, "state"},
        {"version", Type::kText, "version"},
        {"recommends", Type::kBool, "install_recommends"},
        {"hold", Type::kBool, "hold"},
        {"purge", Type::kBool, "purge"},
        {"allow_downgrade", Type::kBool, "allow_downgrade"}},
       CheckPackage},
      {"package_repository",
       {{"name", Type::kText, "name", true},
        {"state", Type::kWord, "state"},
        {"types", Type::kTextList, "types"},
        {"uris", Type::kTextList, "uris"},
        {"suites", Type::kTextList, "suites"},
        {"components", Type::kTextList, "components"},
        {"architectures", Type::kTextList, "architectures"},
        {"key", Type::kText, "key"},
        {"key_file", Type::kRoleFile, "key"},
        {"signed_by", Type::kPath, "signed_by"},
        {"pins",
         Type::kMapList,
         "pins",
         false,
         false,
         {{"packages", Type::kTextList, "packages"},
          {"priority", Type::kPriority, "priority", true},
          {"pin", Type::kText, "pin"}}},
        {"base_urls", Type::kTextList, "base_urls"},
        {"signed_metadata", Type::kBool, "signed_metadata"},
        {"allow_expired", Type::kBool, "allow_expired"}},
       CheckRepository},
      {"package_upgrade",
       {{"scope", Type::kWord, "scope", true},
        {"with_running_jobs", Type::kBool, "with_running_jobs"}},
       nullptr},
      {"package_module",
       {{"name", Type::kText, "name", true},
        {"stream", Type::kText, "stream"},
        {"state", Type::kWord, "state"}},
       CheckModule},
      {"file",
       {{"path", Type::kPath, "path", true},
        {"state", Type::kWord, "state"},
        {"content", Type::kContent, "content", false, true},
        {"template", Type::kTemplateFile, "content"},
        {"source", Type::kRoleFile, "content"},
        {"owner", Type::kText, "owner"},
        {"group", Type::kText, "group"},
        {"mode", Type::kMode, "mode"},
        {"validate", Type::kValidate, "validate"},
        {"only_if_missing", Type::kBool, "only_if_missing"}},
       CheckFile},
      {"directory",
       {{"path", Type::kPath, "path", true},
        {"state", Type::kWord, "state"},
        {"owner", Type::kText, "owner"},
        {"group", Type::kText, "group"},
        {"mode", Type::kMode, "mode"},
        {"recursive", Type::kBool, "recursive"}},
       CheckDirectory},
      {"download",
       {{"path", Type::kPath, "path", true},
        {"urls", Type::kUrls, "urls", true, true},
        {"sha256", Type::kSha256, "sha256", true},
        {"owner", Type::kText, "owner"},
        {"group", Type::kText, "group"},
        {"mode", Type::kMode, "mode"},
        {"proxy", Type::kText, "proxy", false, true},
        {"timeout", Type::kDuration, "timeout"},
        {"attempts", Type::kNumber, "attempts"}},
       nullptr},
      {"archive",
       {{"path", Type::kPath, "path", true},
        {"urls", Type::kUrls, "urls", false, true},
        {"source", Type::kRoleFile, "content"},
        {"sha256", Type::kSha256, "sha256"},
        {"strip_components", Type::kNumber, "strip_components"},
        {"owner", Type::kText, "owner"},
        {"group", Type::kText, "group"},
        {"allow_special", Type::kBool, "allow_special"},
        {"max_bytes", Type::kSize, "max_bytes"},
        {"max_entries", Type::kNumber, "max_entries"},
        {"proxy", Type::kText, "proxy", false, true},
        {"timeout", Type::kDuration, "timeout"},
        {"attempts", Type::kNumber, "attempts"},
        {"state", Type::kWord, "state"}},
       CheckArchive},
      {"symlink",
       {{"path", Type::kPath, "path", true},
        {"target", Type::kText, "target"},
        {"state", Type::kWord, "state"}},
       CheckSymlink},
      {"unit",
       {{"name", Type::kUnitName, "name", true},
        {"state", Type::kWord, "state"},
        {"enabled", Type::kBool, "enabled"},
        {"masked", Type::kBool, "masked"}},
       CheckUnit},
      {"user",
       {{"name", Type::kText, "name", true},
        {"state", Type::kWord, "state"},
        {"uid", Type::kNumber, "uid"},
        {"group", Type::kText, "primary_group"},
        {"groups", Type::kTextList, "groups"},
        {"home", Type::kPath, "home"},
        {"shell", Type::kPath, "shell"},
        {"comment", Type::kText, "comment"},
        {"system", Type::kBool, "system"},
        {"create_home", Type::kBool, "create_home"},
        {"password_hash", Type::kText, "password_hash", false, true},
        {"authorized_keys", Type::kWholeList, "authorized_keys"}},
       nullptr},
      {"group",
       {{"name", Type::kText, "name", true},
        {"state", Type::kWord, "state"},
        {"gid", Type::kNumber, "gid"},
        {"system", Type::kBool, "system"}},
       nullptr},
      {"command",
       {{"argv", Type::kArgv, "argv", true},
        {"creates", Type::kPath, "creates"},
        {"unless", Type::kArgv, "unless"},
        {"changes", Type::kFalse, "changes_nothing"},
        {"directory", Type::kPath, "directory"},
        {"environment", Type::kTextMap, "environment", false, true},
        {"stdin", Type::kContent, "input", false, true},
        {"timeout", Type::kDuration, "timeout"},
        {"retries", Type::kNumber, "retries"},
        {"retry_delay", Type::kDuration, "retry_delay"}},
       CheckCommand},
      {"hostname", {{"name", Type::kText, "name", true}}, nullptr},
      {"agent",
       {{"version", Type::kText, "version", true},
        {"urls", Type::kUrls, "urls", true, true},
        {"sha256", Type::kSha256, "sha256", true}},
       nullptr},
      {"controller",
       {{"version", Type::kText, "version", true},
        {"packages", Type::kTextList, "packages", true},
        {"allow_downgrade", Type::kBool, "allow_downgrade"}},
       nullptr},
      {"line",
       {{"path", Type::kPath, "path", true},
        {"state", Type::kWord, "state"},
        {"line", Type::kText, "line", false, true},
        {"match", Type::kRegex, "match"},
        {"key", Type::kText, "key"},
        {"insert_after", Type::kRegex, "insert_after"},
        {"create", Type::kBool, "create"},
        {"validate", Type::kValidate, "validate"}},
       CheckLine},
      {"sysctl",
       {{"key", Type::kText, "key", true},
        {"value", Type::kText, "value"},
        {"state", Type::kWord, "state"}},
       CheckSysctl},
      {"kernel_module",
       {{"name", Type::kText, "name", true},
        {"state", Type::kWord, "state"},
        {"parameters", Type::kTextList, "parameters"}},
       CheckKernelModule},
      {"mount", MountParams(), CheckMount},
      {"sysctls",
       {{"name", Type::kFileName, "name", true}, {"values", Type::kTextMap, "values", true}},
       nullptr},
      {"mounts",
       {{"name", Type::kFileName, "name", true},
        {"mounts", Type::kMapList, "mounts", true, false, MountParams(), CheckMountEntry, true}},
       nullptr},
      {"files_in",
       {{"path", Type::kPath, "path", true},
        {"files", Type::kMapList, "files", true, false, FileEntryParams(), CheckFileEntry, true},
        {"owner", Type::kText, "owner"},
        {"group", Type::kText, "group"},
        {"mode", Type::kMode, "mode"},
        {"purge", Type::kBool, "purge"},
        {"keep", Type::kTextList, "keep"}},
       CheckFilesIn},
      {"file_system",
       {{"device", Type::kPath, "device", true},
        {"type", Type::kWord, "type", true},
        {"label", Type::kText, "label"},
        {"options", Type::kTextList, "options"},
        {"replaces_uuid", Type::kText, "replaces_uuid"}},
       CheckFileSystem},
      {"slurm_accounts",
       {{"cluster", Type::kText, "cluster", true},
        {"qos", Type::kMapList, "qos", false, false, SlurmQosParams(), nullptr, true},
        {"accounts", Type::kMapList, "accounts", false, false, SlurmAccountParams(), nullptr, true},
        {"users", Type::kMapList, "users", false, false, SlurmUserParams(), nullptr, true}},
       nullptr},
      {"reboot",
       {{"when", Type::kWord, "when"},
        {"reason", Type::kText, "reason"},
        {"timeout", Type::kDuration, "timeout"},
        {"with_running_jobs", Type::kBool, "with_running_jobs"},
        {"image", Type::kText, "image"}},
       CheckReboot},
      {"container_image",
       {{"runtime", Type::kWord, "runtime", true},
        {"image", Type::kText, "image", true},
        {"archive", Type::kPath, "archive"},
        {"sha256", Type::kSha256, "sha256"},
        {"path", Type::kPath, "path"},
        {"max_bytes", Type::kSize, "max_bytes"},
        {"min_free_bytes", Type::kSize, "min_free_bytes"},
        {"timeout", Type::kDuration, "timeout"},
        {"state", Type::kWord, "state"}},
       CheckContainerImage},
  };
  return *kTypes;
}

const ResourceType* FindResourceType(absl::string_view key) {
  for (const ResourceType& type : ResourceTypes()) {
    if (type.key == key) return &type;
  }
  return nullptr;
}

}  // namespace muster::controller::playbook
