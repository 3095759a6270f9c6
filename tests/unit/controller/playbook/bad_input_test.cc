// Mistakes that people make, and the messages that they get: the place and the remedy.
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/playbook/compiler.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Said;
using ::testing::StartsWith;
using testing::StatusIs;

struct BadInput {
  const char* name;
  const char* path;  // of the wrong file, below playbooks/
  const char* text;
  const char* place;  // where the error begins
  const char* says;
};

std::ostream& operator<<(std::ostream& out, const BadInput& row) { return out << row.name; }

constexpr char kTasks[] = "roles/r/tasks/main.yaml";

const BadInput kBadInputs[] = {
    {"PlaybookIsAMap", "site.yaml", "play: p\n", "site.yaml:1:1",
     "a playbook must be a list of plays"},
    {"PlaybookIsEmpty", "site.yaml", "", "site.yaml:1:1", "a playbook must be a list of plays"},
    {"BrokenYaml", "site.yaml", "- play: [p\n", "site.yaml:1:9:", "this '[' is not closed"},
    {"DownloadWithoutDigest", kTasks, "- {name: x, download: {path: /a, urls: http://h/a}}",
     "roles/r/tasks/main.yaml:1:13", "'download' lacks 'sha256'"},
    {"DownloadFromAFile", kTasks,
     "- {name: x, download: {path: /a, urls: 'ftp://ann:hunter2@h/a'}}",
     "roles/r/tasks/main.yaml:1:40", "urls that begin with http:// or https://"},
    {"DigestOfMd5", kTasks,
     "- {name: x, download: {path: /a, urls: http://h/a, sha256: "
     "d41d8cd98f00b204e9800998ecf8427e}}",
     "roles/r/tasks/main.yaml:1:60", "64 hexadecimal digits"},
    {"ArchiveFromNowhere", kTasks, "- {name: x, archive: {path: /a}}",
     "roles/r/tasks/main.yaml:1:13", "'archive' lacks one of urls or source"},
    {"ArchiveOfUnknownContent", kTasks, "- {name: x, archive: {path: /a, urls: http://h/a.tgz}}",
     "roles/r/tasks/main.yaml:1:13", "lacks 'sha256'"},
    {"ArchiveWithoutEnd", kTasks, "- {name: x, archive: {path: /a, max_bytes: 8 GB}}",
     "roles/r/tasks/main.yaml:1:44", "a size such as"},
    {"ImageByTag", kTasks,
     "- {name: x, container_image: {runtime: podman, image: 'docker.io/library/debian:12'}}",
     "roles/r/tasks/main.yaml:1:13", "is not pinned"},
    {"ImageOfNoRegistry", kTasks,
     "- {name: x, container_image: {runtime: podman, image: 'debian:12', archive: /a, sha256: "
     "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08}}",
     "roles/r/tasks/main.yaml:1:13", "does not begin with a registry"},
    {"ImageOfUnknownArchive", kTasks,
     "- {name: x, container_image: {runtime: podman, image: 'localhost/a:1', archive: /a}}",
     "roles/r/tasks/main.yaml:1:13", "lacks 'sha256'"},
    {"ImageOfUnknownRuntime", kTasks, "- {name: x, container_image: {runtime: lxc, image: a}}",
     "roles/r/tasks/main.yaml:1:40", "docker"},
    {"EnrootWithoutAPath", kTasks, "- {name: x, container_image: {runtime: enroot, image: a}}",
     "roles/r/tasks/main.yaml:1:13", "lacks 'path'"},
    {"PodmanWithAPath", kTasks,
     "- {name: x, container_image: {runtime: podman, image: a, path: /a}}",
     "roles/r/tasks/main.yaml:1:13", "a storage of its own"},
    {"UnknownPlayKey", "site.yaml", "- {play: p, host: all, hosts: all, roles: [r]}",
     "site.yaml:1:13", "unknown key 'host' in a play (did you mean 'hosts'?)"},
    {"PlayWithVars", "site.yaml", "- {play: p, hosts: all, roles: [r], vars: {a: 1}}",
     "site.yaml:1:37", "only five levels"},
    {"PlayWithBecome", "site.yaml", "- {play: p, hosts: all, roles: [r], become: true}",
     "site.yaml:1:37", "the agent runs as root"},
    {"NoHosts", "site.yaml", "- {play: p, roles: [r]}", "site.yaml:1:3", "a play needs 'hosts'"},
    {"NoRoles", "site.yaml", "- {play: p, hosts: all}", "site.yaml:1:3", "'roles' or 'tasks'"},
    {"TemplateInHosts", "site.yaml", "- {play: p, hosts: \"{{ x }}\", roles: [r]}",
     "site.yaml:1:20", "'hosts' must be plain text"},
    {"UnknownRole", "site.yaml", "- {play: p, hosts: all, roles: [rr]}", "site.yaml:1:33",
     "no role 'rr' in playbooks/roles/ (did you mean 'r'?)"},
    {"RoleTwice", "site.yaml", "- {play: p, hosts: all, roles: [r, r]}", "site.yaml:1:36",
     "role 'r' is already in this play"},
    {"RoleNamedTasks", "site.yaml", "- {play: p, hosts: all, roles: [tasks]}", "site.yaml:1:33",
     "stands for the tasks of the play"},
    {"RoleOutsideOfRoles", "site.yaml", "- {play: p, hosts: all, roles: [../r]}", "site.yaml:1:33",
     "no role '../r'"},
    {"RoleWithVars", "site.yaml", "- {play: p, hosts: all, roles: [{role: r, vars: {a: 1}}]}",
     "site.yaml:1:43", "only five levels"},
    {"UnknownNeed", "site.yaml", "- {play: p, hosts: all, roles: [r, {role: munge, needs: [rr]}]}",
     "site.yaml:1:57", "role 'munge' needs 'rr', which is not in play 'p' (did you mean 'r'?)"},
    {"CycleOfNeeds", "site.yaml",
     "- {play: p, hosts: all, roles: [{role: r, needs: munge}, {role: munge, needs: r}]}",
     "site.yaml:1:33", "roles need each other: r → munge → r"},
    {"NeedsItself", "site.yaml", "- {play: p, hosts: all, roles: [{role: r, needs: r}]}",
     "site.yaml:1:33", "roles need each other: r → r"},
    {"BadRoleWhen", "site.yaml", "- {play: p, hosts: all, roles: [{role: r, when: 'a ='}]}",
     "site.yaml:1:52", "found '='"},

    {"TaskIsText", kTasks, "- install vim\n", "main.yaml:1:3", "a task must be a map"},
    {"UnknownResource", kTasks, "- {name: a, pakage: {name: x}}", "main.yaml:1:13",
     "unknown key 'pakage' in a task (did you mean 'package'?)"},
    {"ForeignResource", kTasks, "- {name: a, apt: {name: x}}", "main.yaml:1:13", "use package"},
    {"UnknownTaskKey", kTasks, "- {name: a, wen: x, package: {name: x}}", "main.yaml:1:13",
     "did you mean 'when'"},
    {"Register", kTasks, "- {name: a, register: x, package: {name: x}}", "main.yaml:1:13",
     "a task cannot use the output of another"},
    {"TwoResources", kTasks, "- {name: a, package: {name: x}, group: {name: y}}", "main.yaml:1:33",
     "a second resource in one task: it already has 'package'"},
    {"NoResource", kTasks, "- {name: a}", "main.yaml:1:3", "a task needs a resource"},
    {"NoName", kTasks, "- package: {name: x}", "main.yaml:1:3", "a task needs a name"},
    {"UnknownParameter", kTasks, "- {name: a, file: {path: /a, content: x, onwer: y}}",
     "main.yaml:1:42", "unknown key 'onwer' in 'file' (did you mean 'owner'?)"},
    {"ForeignParameter", kTasks, "- {name: a, file: {dest: /a, content: x}}", "main.yaml:1:20",
     "use path"},
    {"EmptyParameter", kTasks, "- {name: a, package: {name: }}", "main.yaml:1:23",
     "'name' is empty"},
    {"ResourceIsText", kTasks, "- {name: a, package: vim}", "main.yaml:1:22",
     "'package' takes a map of parameters: name, names"},
    {"MissingParameter", kTasks, "- {name: a, directory: {mode: \"0755\"}}", "main.yaml:1:13",
     "'directory' lacks 'path'"},
    {"RelativePath", kTasks, "- {name: a, directory: {path: srv}}", "main.yaml:1:31",
     "'path' must be an absolute path, not 'srv'"},
    {"DecimalMode", kTasks, "- {name: a, directory: {path: /a, mode: 755}}", "main.yaml:1:41",
     "'mode' must be a quoted octal string such as \"0644\", not 755"},
    {"SymbolicMode", kTasks, "- {name: a, directory: {path: /a, mode: u+x}}", "main.yaml:1:41",
     "quoted octal string"},
    {"ModeTooLarge", kTasks, "- {name: a, directory: {path: /a, mode: \"17777\"}}",
     "main.yaml:1:41", "quoted octal string"},
    {"BoolAsYes", kTasks, "- {name: a, unit: {name: a.service, enabled: yes}}", "main.yaml:1:46",
     "'enabled' must be true or false, not \"yes\""},
    {"UnknownState", kTasks, "- {name: a, unit: {name: a.service, state: runing}}",
     "main.yaml:1:44",
     "'state' must be one of started, stopped, restarted, reloaded, not 'runing'"},
    {"UnitWithoutSuffix", kTasks, "- {name: a, unit: {name: munge, state: started}}",
     "main.yaml:1:26", "'munge.service'?"},
    {"UnitTemplate", kTasks, "- {name: a, unit: {name: getty@.service, state: started}}",
     "main.yaml:1:26",
     "'name' must be an instance of the template 'getty@.service': "
     "'getty@NAME.service'"},
    {"RestartByATask", kTasks, "- {name: a, unit: {name: a.service, state: restarted}}",
     "main.yaml:1:13", "move it to a handler"},
    {"RebootByATask", kTasks, "- {name: a, reboot: {when: always}}", "main.yaml:1:13",
     "would reboot the node at every apply: move it to a handler"},
    {"RebootAtAnUnknownTime", kTasks, "- {name: a, reboot: {when: allways}}", "main.yaml:1:28",
     "'when' must be one of required, always, not 'allways'"},
    {"PinsWithAnUnknownKey", kTasks,
     "- {name: a, package_repository: {name: a, uris: u, suites: s,\n"
     "   pins: [{priority: 5}, {priorty: 6}]}}",
     "main.yaml:2:27", "unknown key 'priorty' in an entry of 'pins' (did you mean 'priority'?)"},
    {"PinWithoutPriority", kTasks,
     "- {name: a, package_repository: {name: a, uris: u, suites: s, pins: [{packages: x}]}}",
     "main.yaml:1:70", "an entry of 'pins' lacks 'priority'"},
    {"PinWithPriorityZero", kTasks,
     "- {name: a, package_repository: {name: a, uris: u, suites: s, pins: [{priority: 0}]}}",
     "main.yaml:1:81", "'priority' must be a whole number from -32767 to 32767 and not 0"},
    {"PinIsText", kTasks,
     "- {name: a, package_repository: {name: a, uris: u, suites: s, pins: [900]}}",
     "main.yaml:1:70", "an entry of 'pins' is a map (packages, priority, pin), not a value"},
    {"PinsAreText", kTasks,
     "- {name: a, package_repository: {name: a, uris: u, suites: s, pins: high}}", "main.yaml:1:69",
     "'pins' must be a list of maps, not \"high\""},
    {"PinsOfAnAbsentRepository", kTasks,
     "- {name: a, package_repository: {name: a, state: absent, pins: {priority: 1}}}",
     "main.yaml:1:13", "has 'pins', but its state is absent"},
    {"NegativeUid", kTasks, "- {name: a, user: {name: a, uid: -1}}", "main.yaml:1:34",
     "'uid' must be a whole number from 0 to 4294967295, not -1"},
    {"DurationWithoutUnit", kTasks, "- {name: a, command: {argv: [a], creates: /a, timeout: 5}}",
     "main.yaml:1:56", "a duration with its unit"},
    {"CommandAsText", kTasks, "- {name: a, command: {argv: ls -l, creates: /a}}", "main.yaml:1:29",
     "'argv' must be a list, a program and its arguments"},
    {"CommandWithoutEnd", kTasks, "- {name: a, command: {argv: [ls]}}", "main.yaml:1:13",
     "lacks one of creates, unless or changes: false, so that a second apply can change nothing"},
    {"CommandWithTwoEnds", kTasks,
     "- {name: a, command: {argv: [ls], creates: /a, changes: false}}", "main.yaml:1:13",
     "has creates and changes, but takes only one of"},
    {"ChangesTrue", kTasks, "- {name: a, command: {argv: [ls], changes: true}}", "main.yaml:1:44",
     "state when there is nothing to do"},
    {"FileWithoutContent", kTasks, "- {name: a, file: {path: /a}}", "main.yaml:1:13",
     "lacks one of content, template or source"},
    {"FileWithTwoContents", kTasks, "- {name: a, file: {path: /a, content: x, source: f}}",
     "main.yaml:1:13", "has content and source"},
    {"ValidateWithoutPath", kTasks,
     "- {name: a, file: {path: /a, content: x, validate: [visudo, -c]}}", "main.yaml:1:52",
     "\"%s\""},
    {"AbsentFileWithContent", kTasks, "- {name: a, file: {path: /a, content: x, state: absent}}",
     "main.yaml:1:13", "has 'content', but its state is absent"},
    {"MissingTemplate", kTasks, "- {name: a, file: {path: /a, template: motd.j}}", "main.yaml:1:40",
     "no file playbooks/roles/r/templates/motd.j (did you mean 'motd.j2'?)"},
    {"MissingSource", kTasks, "- {name: a, file: {path: /a, source: ../../site.yaml}}",
     "main.yaml:1:38", "no file playbooks/roles/r/files/../../site.yaml"},
    {"UnknownHandler", kTasks, "- {name: a, notify: restart mung, package: {name: x}}",
     "main.yaml:1:21", "unknown handler 'restart mung' (did you mean 'restart munge'?)"},
    {"BadTemplateInATask", kTasks, "- name: a\n  package: {name: \"{{ x | }}\"}\n",
     "main.yaml:2:27", "expected a name"},
    {"UnquotedTemplate", kTasks, "- name: a\n  package: {name: {{ x }}}\n",
     "main.yaml:2:", "quotes"},
    {"UnquotedTemplateAtTheStart", kTasks, "- name: a\n  file:\n    path: {{ x }}/a\n",
     "main.yaml:3:", "needs quotes"},
    {"TemplateInWhen", kTasks, "- {name: a, when: \"{{ x }}\", package: {name: x}}",
     "main.yaml:1:19", "write it without {{ and }}"},
    {"LoopOverAMap", kTasks, "- {name: a, loop: {x: 1}, package: {name: x}}", "main.yaml:1:19",
     "'loop' takes a list"},
    {"MissingInclude", kTasks, "- include: main.yml\n", "main.yaml:1:12",
     "no file playbooks/roles/r/tasks/main.yml (did you mean 'main.yaml'?)"},
    {"IncludesItself", kTasks, "- include: main.yaml\n", "main.yaml:1:12", "includes itself"},
    {"IncludeWithLoop", kTasks, "- {include: main.yaml, loop: [1]}\n", "main.yaml:1:24",
     "unknown key 'loop' in an include"},
    {"TwoRepositoryKeys", kTasks,
     "- {name: a, package_repository: {name: a, uris: u, suites: s, key: k, key_file: f}}",
     "main.yaml:1:13", "has key and key_file"},

    {"BadRegex", kTasks, "- {name: a, line: {path: /a, line: b, match: '(b'}}", "main.yaml:1:46",
     "'match' must be a regular expression of RE2: missing )"},
    {"LineWithoutLine", kTasks, "- {name: a, line: {path: /a, match: b}}", "main.yaml:1:13",
     "lacks 'line'"},
    {"AbsentLineOfNothing", kTasks, "- {name: a, line: {path: /a, state: absent}}",
     "main.yaml:1:13", "lacks one of line, match or key"},
    {"LineByTwo", kTasks, "- {name: a, line: {path: /a, line: b, match: b, key: b}}",
     "main.yaml:1:13", "has match and key"},
    {"LineInFile", kTasks, "- {name: a, lineinfile: {path: /a, line: b}}", "main.yaml:1:13",
     "use line"},
    {"SysctlWithoutFolder", kTasks, "- {name: a, sysctl: {key: swappiness, value: 1}}",
     "main.yaml:1:13", "without its folder, such as vm.swappiness"},
    {"SysctlWithoutValue", kTasks, "- {name: a, sysctl: {key: a.b}}", "main.yaml:1:13",
     "lacks 'value'"},
    {"SysctlSetAsList", kTasks, "- {name: a, sysctls: {name: a, values: [a.b]}}", "main.yaml:1:40",
     "'values' must be a map"},
    {"SetNameWithASlash", kTasks, "- {name: a, sysctls: {name: a/b, values: {}}}", "main.yaml:1:29",
     "'name' must be one name without '/', not 'a/b'"},
    {"ModuleState", kTasks, "- {name: a, kernel_module: {name: a, state: blacklist}}",
     "main.yaml:1:45", "did you mean 'blacklisted'?"},
    {"MountWithoutType", kTasks, "- {name: a, mount: {path: /a, source: b}}", "main.yaml:1:13",
     "lacks 'type'"},
    {"MountsAsMap", kTasks, "- {name: a, mounts: {name: a, mounts: /a}}", "main.yaml:1:39",
     "'mounts' must be a list of maps, not"},
    {"MountEntryIsText", kTasks, "- {name: a, mounts: {name: a, mounts: [/a]}}", "main.yaml:1:40",
     "an entry of 'mounts' is a map (path, source, type"},
    {"MountEntryKey", kTasks,
     "- name: a\n  mounts:\n    name: a\n    mounts:\n      - {path: /a, source: b, typ: c}\n",
     "main.yaml:5:31", "unknown key 'typ' in an entry of 'mounts' (did you mean 'type'?)"},
    {"MountEntryForeignKey", kTasks,
     "- {name: a, mounts: {name: a, mounts: [{path: /a, fstype: c}]}}", "main.yaml:1:51",
     "use type"},
    {"MountEntryLacks", kTasks, "- {name: a, mounts: {name: a, mounts: [{path: /a, type: c}]}}",
     "main.yaml:1:40", "an entry of 'mounts' lacks 'source'"},
    {"MountEntryAbsent", kTasks,
     "- {name: a, mounts: {name: a, mounts: [{path: /a, state: absent}]}}", "main.yaml:1:40",
     "remove it from the list"},
    {"MountTwice", kTasks,
     "- {name: a, mounts: {name: a, mounts: [{path: /a, source: b, type: c}, "
     "{path: /a, source: b, type: c}]}}",
     "main.yaml:1:39", "'mounts' has a second entry with path '/a'"},
    {"FileEntryWithTwoContents", kTasks,
     "- {name: a, files_in: {path: /a, files: [{name: b, content: c, source: f}]}}",
     "main.yaml:1:42", "needs exactly one of content, template or source"},
    {"FileEntryWithoutFile", kTasks,
     "- {name: a, files_in: {path: /a, files: [{name: b, source: g}]}}", "main.yaml:1:60",
     "no file playbooks/roles/r/files/g"},
    {"FileEntryInAFolder", kTasks,
     "- {name: a, files_in: {path: /a, files: [{name: ../b, content: c}]}}", "main.yaml:1:49",
     "'name' must be one name without '/'"},
    {"KeepWithoutPurge", kTasks, "- {name: a, files_in: {path: /a, files: [], keep: b}}",
     "main.yaml:1:13", "applies only with purge"},

    {"HandlerThatNotifies", "roles/r/handlers/main.yaml",
     "- {name: h, notify: h, command: {argv: [a]}}", "main.yaml:1:13", "a handler has no 'notify'"},
    {"HandlerTwice", "roles/r/handlers/main.yaml",
     "- {name: restart munge, command: {argv: [a]}}\n- {name: restart munge, command: {argv: [a]}}",
     "main.yaml:2:3", "a second handler 'restart munge'"},
    {"BadTemplateFile", "roles/r/templates/bad.j2", "one\n{% if x %}\n",
     "roles/r/templates/bad.j2:2:4", "has no {% endif %}"},
    {"ReservedDefault", "roles/r/defaults/main.yaml", "nodes: 3\n", "defaults/main.yaml:1:1",
     "'nodes' is a name that Muster defines"},
    {"BadVariableName", "roles/r/defaults/main.yaml", "my-port: 3\n", "defaults/main.yaml:1:1",
     "is not a valid variable name"},
    {"FolderThatIsNeverRead", "roles/r/vars/main.yaml", "a: 1\n", "roles/r/vars/main.yaml",
     "put variables into defaults/ or the inventory"},
    {"YmlFile", "roles/r/handlers/main.yml", "", "roles/r/handlers/main.yml", "rename it to"},
};

class BadInputTest : public ::testing::TestWithParam<BadInput> {};

TEST_P(BadInputTest, NamesPlaceAndRemedy) {
  const BadInput& row = GetParam();
  FileTree site = {
      {"playbooks/site.yaml", "- {play: p, hosts: all, roles: [r]}"},
      {"playbooks/roles/r/tasks/main.yaml", "- {name: a, package: {name: x}}"},
      {"playbooks/roles/r/handlers/main.yaml", "- {name: restart munge, command: {argv: [a]}}"},
      {"playbooks/roles/r/templates/motd.j2", "hello\n"},
      {"playbooks/roles/r/files/f", "hello\n"},
      {"playbooks/roles/munge/tasks/main.yaml", ""},
  };
  site[absl::StrCat("playbooks/", row.path)] = row.text;
  const absl::Status status = LoadPlaybook(site, "playbooks/site.yaml").status();
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kInvalidArgument, AllOf(Said(), HasSubstr(row.says))));
  const std::string first(status.message().substr(0, status.message().find(": ")));
  EXPECT_THAT(first, StartsWith("playbooks/"));
  EXPECT_THAT(std::string(status.message()), HasSubstr(row.place));
  EXPECT_EQ(status.message().find("\n\n"), absl::string_view::npos) << "one error is enough";
}

INSTANTIATE_TEST_SUITE_P(Rows, BadInputTest, ::testing::ValuesIn(kBadInputs),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace muster::controller
