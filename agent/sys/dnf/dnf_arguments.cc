#include "agent/sys/dnf/dnf_arguments.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster::agent {
namespace {

std::vector<std::string> Options(const PackageTransaction& transaction) {
  return {absl::StrCat("--setopt=install_weak_deps=",
                       transaction.install_recommends ? "True" : "False"),
          // Only what the playbook names goes.
          "--setopt=clean_requirements_on_remove=False"};
}

// Values come from repositories and from rpm's database; a name there holds no quote, but the file
// must stay well-formed whatever they say.
std::string Quoted(absl::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) continue;
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::string Entry(absl::string_view action, const RpmPackage& package, absl::string_view repo) {
  return absl::StrCat("  {\"action\": ", Quoted(action), ", \"nevra\": ", Quoted(package.Nevra()),
                      ", \"reason\": \"user\", \"repo_id\": ", Quoted(repo), "}");
}

}  // namespace

absl::Status CheckDnfName(const std::string& name) {
  const bool plain = !name.empty() && name.front() != '@' && name.front() != '-' &&
                     name.find_first_of("*?[]{}/<>=|&!'\"\\$`; \t\r\n") == std::string::npos;
  if (plain) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("package '", absl::CHexEscape(name),
                   "': dnf takes this for a group, a file or a pattern; write names of packages"));
}

std::vector<std::string> Dnf(const std::vector<std::string>& arguments) {
  std::vector<std::string> argv = {"dnf", "--assumeyes", "--color=never",
                                   "--setopt=exit_on_lock=True"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return argv;
}

std::vector<std::string> DnfQuery(const std::vector<std::string>& arguments) {
  std::vector<std::string> argv = {"dnf", "--quiet", "--color=never", "--cacheonly",
                                   "--disableplugin=versionlock"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return argv;
}

std::string DnfSpec(const std::string& item) {
  const size_t equals = item.find('=');
  if (equals == std::string::npos) return item;
  const auto [name, arch] = SplitArchitecture(item.substr(0, equals));
  return absl::StrCat(name, "-", item.substr(equals + 1), arch.empty() ? "" : ".", arch);
}

std::vector<std::string> DnfTransaction(const PackageTransaction& transaction) {
  std::vector<std::string> arguments = Options(transaction);
  arguments.emplace_back(transaction.install.empty() ? "remove"
                         : transaction.only_upgrade  ? "upgrade"
                                                     : "install");
  for (const std::string& item : transaction.install) arguments.push_back(DnfSpec(item));
  arguments.insert(arguments.end(), transaction.remove.begin(), transaction.remove.end());
  return arguments;
}

std::vector<std::string> DnfReplay(const PackageTransaction& transaction, const std::string& file) {
  std::vector<std::string> arguments = Options(transaction);
  // Dependencies are not in the file, and versions are replaced by others.
  for (const char* word : {"history", "replay", "--ignore-extras", "--ignore-installed"})
    arguments.emplace_back(word);
  arguments.push_back(file);
  return arguments;
}

std::string DnfStoredTransaction(const std::vector<RpmPackage>& install,
                                 const std::vector<RpmPackage>& remove) {
  std::vector<std::string> entries;
  for (const RpmPackage& package : install)
    entries.push_back(Entry("Install", package, package.repository));
  for (const RpmPackage& package : remove) entries.push_back(Entry("Removed", package, "@System"));
  return absl::StrCat("{\"version\": \"0.0\", \"rpms\": [\n", absl::StrJoin(entries, ",\n"),
                      "\n]}\n");
}

}  // namespace muster::agent
