#include "controller/playbook/words.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/text/nearest_word.h"

namespace muster::controller::playbook {
namespace {

struct Foreign {
  const char* word;
  const char* remedy;
};

constexpr char kVariables[] =
    "variables have only five levels: role defaults, inventory, group, node, -e";
constexpr char kNoResult[] =
    "a task cannot use the output of another: write it as a command with creates or unless, or "
    "use facts";

constexpr Foreign kForeign[] = {
    {"vars", kVariables},
    {"vars_files", kVariables},
    {"set_fact", kVariables},
    {"register", kNoResult},
    {"changed_when", kNoResult},
    {"failed_when", kNoResult},
    {"until", "a command has retries and retry_delay"},
    {"become", "the agent runs as root: leave it out"},
    {"become_user", "the agent runs as root: use runuser in a command's argv"},
    {"remote_user", "the agent runs as root: leave it out"},
    {"connection", "agents dial the controller: leave it out"},
    {"gather_facts", "facts are gathered before every play: leave it out"},
    {"serial", "apply to some of the nodes at a time with --limit"},
    {"strategy", "nodes never wait for each other inside a play: leave it out"},
    {"delegate_to", "write a play for the other node"},
    {"run_once", "write a play for one node"},
    {"ignore_errors",
     "a failed step fails its role; move tasks that may fail into a separate role"},
    {"no_log", "output with a secret() is withheld automatically: leave it out"},
    {"block", "use include with a file of tasks"},
    {"with_items", "use loop"},
    {"with_dict", "use loop"},
    {"import_tasks", "use include"},
    {"include_tasks", "use include"},
    {"import_role", "name the role in the play's roles"},
    {"include_role", "name the role in the play's roles"},
    {"pre_tasks", "make them a role and let the others need it"},
    {"post_tasks", "use tasks, which come after the roles"},
    {"listen", "notify the handler by its name"},
    {"apt", "use package"},
    {"dnf", "use package"},
    {"yum", "use package"},
    {"apt_repository", "use package_repository"},
    {"apt_key", "use package_repository with key"},
    {"copy", "use file with content or source"},
    {"template", "use file with template"},
    {"lineinfile", "use line"},
    {"modprobe", "use kernel_module"},
    {"docker_image", "use container_image"},
    {"podman_image", "use container_image"},
    {"regexp", "use match"},
    {"insertafter", "use insert_after"},
    {"fstype", "use type"},
    {"opts", "use options, a list"},
    {"blockinfile", "use file and own the whole file, or a drop-in folder"},
    {"service", "use unit, with the unit's suffix"},
    {"systemd", "use unit, with the unit's suffix"},
    {"shell", "use command with argv, or a script from files/"},
    {"script", "use file with source and a command"},
    {"dest", "use path"},
    {"src", "use source, template or target"},
    {"cmd", "use argv, a list"},
};

}  // namespace

bool CheckKeys(const yaml::Document& document, const yaml::Node& node, absl::string_view what,
               const std::vector<std::string>& known, ErrorList* errors) {
  bool all_known = true;
  for (const yaml::Entry& entry : node.entries()) {
    if (std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
    all_known = false;
    const auto* foreign = std::find_if(std::begin(kForeign), std::end(kForeign),
                                       [&](const Foreign& row) { return row.word == entry.key; });
    std::string hint;
    if (foreign != std::end(kForeign)) {
      hint = absl::StrCat(": ", foreign->remedy);
    } else {
      hint = DidYouMean(entry.key, known);
    }
    if (hint.empty()) hint = absl::StrCat(" (known: ", absl::StrJoin(known, ", "), ")");
    errors->Add(document.Error(entry.key_mark,
                               absl::StrCat("unknown key '", entry.key, "' in ", what, hint)));
  }
  return all_known;
}

const std::vector<std::string>& ReservedNames() {
  static const auto* const kNames = new std::vector<std::string>{
      "facts",  "node", "nodes",  "groups", "partitions", "racks",       "cluster",
      "domain", "item", "secret", "loop",   "muster",     kStackVariable};
  return *kNames;
}

bool IsReserved(absl::string_view name) {
  const std::vector<std::string>& names = ReservedNames();
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string CheckVariable(absl::string_view name) {
  if (IsReserved(name)) {
    return absl::StrCat("'", name, "' is a name that Muster defines: choose another");
  }
  const bool word = !name.empty() && !absl::ascii_isdigit(static_cast<unsigned char>(name[0])) &&
                    std::all_of(name.begin(), name.end(), [](char c) {
                      return c == '_' || absl::ascii_isalnum(static_cast<unsigned char>(c));
                    });
  if (!word) {
    return absl::StrCat("'", name, "' is not a valid variable name: use letters, digits and _");
  }
  return "";
}

std::string CheckGivenVariable(absl::string_view name) {
  return name == kStackVariable ? "" : CheckVariable(name);
}

}  // namespace muster::controller::playbook
