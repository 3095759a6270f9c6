// muster completion: shell completion with live names.
//
// The shells' scripts are thin: they pass the words typed so far to `muster __complete --`, which
// walks the same verbs that are parsed and asks the controller for names.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/connection.h"
#include "cli/context.h"
#include "cli/render/help_topics.h"
#include "cli/render/report/bundle_report.h"
#include "cli/site/site_words.h"
#include "cli/verbs/verbs.h"
#include "common/base/status.h"
#include "common/value/image_manifest.h"
#include "muster/v1/artifact.grpc.pb.h"
#include "muster/v1/image.grpc.pb.h"
#include "muster/v1/node.grpc.pb.h"
#include "muster/v1/notification.grpc.pb.h"
#include "muster/v1/rollout.grpc.pb.h"
#include "muster/v1/run.grpc.pb.h"
#include "muster/v1/secret.grpc.pb.h"
#include "muster/v1/snapshot.grpc.pb.h"
#include "muster/v1/validation.grpc.pb.h"

namespace muster::cli {
namespace {

// Somebody is waiting with a finger on the tab key.
constexpr absl::Duration kPatience = absl::Seconds(1);

// The playbooks, below the site folder of the current directory.
constexpr char kPlaybooks[] = "playbooks";

constexpr char kBash[] = R"(_muster() {
  local IFS=$'\n'
  COMPREPLY=($(muster __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  if [[ ${#COMPREPLY[@]} -eq 0 ]]; then
    compopt -o default 2>/dev/null
  fi
}
complete -F _muster muster
)";

constexpr char kZsh[] = R"(#compdef muster
_muster() {
  local -a candidates
  candidates=("${(@f)$(muster __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "${candidates[1]}" ]]; then
    compadd -- "${candidates[@]}"
  else
    _files
  fi
}
compdef _muster muster
)";

constexpr char kFish[] = R"(function __muster_complete
  set -l words (commandline -opc) (commandline -ct)
  muster __complete -- $words[2..-1] 2>/dev/null
end
complete -c muster -a '(__muster_complete)'
)";

// The names that `add` extracts from the response to an empty request; none when the controller
// does not answer in time or the person may not call.
template <typename Service, typename Request, typename Response, typename Add>
std::vector<std::string> Listed(Context& context,
                                grpc::Status (Service::Stub::*method)(grpc::ClientContext*,
                                                                      const Request&, Response*),
                                const Add& add) {
  std::vector<std::string> names;
  const absl::StatusOr<Connection*> connection = context.Connect();
  if (!connection.ok()) return names;
  typename Service::Stub stub((*connection)->channel());
  Response response;
  if (Call(**connection, stub, method, Request(), &response, kPatience).ok()) add(response, names);
  return names;
}

std::vector<std::string> NodeNames(Context& context) {
  return Listed<v1::NodeService>(
      context, &v1::NodeService::Stub::ListNodes,
      [](const v1::ListNodesResponse& response, std::vector<std::string>& names) {
        for (const v1::Node& node : response.nodes()) names.push_back(node.name());
      });
}

// The words that select nodes: their names, groups, roles and racks.
std::vector<std::string> Selectors(Context& context) {
  return Listed<v1::NodeService>(
      context, &v1::NodeService::Stub::ListNodes,
      [](const v1::ListNodesResponse& response, std::vector<std::string>& names) {
        std::set<std::string> groups = {"all"};
        for (const v1::Node& node : response.nodes()) {
          names.push_back(node.name());
          groups.insert(node.groups().begin(), node.groups().end());
          if (!node.role().empty()) groups.insert(node.role());
          if (!node.rack().empty()) groups.insert(absl::StrCat("rack:", node.rack()));
        }
        names.insert(names.end(), groups.begin(), groups.end());
      });
}

std::vector<std::string> RunIds(Context& context) {
  return Listed<v1::RunService>(
      context, &v1::RunService::Stub::ListRuns,
      [](const v1::ListRunsResponse& response, std::vector<std::string>& ids) {
        for (const v1::Run& run : response.runs()) ids.push_back(run.run_id());
      });
}

std::vector<std::string> RolloutIds(Context& context) {
  return Listed<v1::RolloutService>(
      context, &v1::RolloutService::Stub::ListRollouts,
      [](const v1::ListRolloutsResponse& response, std::vector<std::string>& ids) {
        for (const v1::Rollout& rollout : response.rollouts()) ids.push_back(rollout.rollout_id());
      });
}

std::vector<std::string> ValidationIds(Context& context) {
  return Listed<v1::ValidationService>(
      context, &v1::ValidationService::Stub::ListValidations,
      [](const v1::ListValidationsResponse& response, std::vector<std::string>& ids) {
        for (const v1::Validation& each : response.validations())
          ids.push_back(each.validation_id());
      });
}

std::vector<std::string> SecretNames(Context& context) {
  return Listed<v1::SecretService>(
      context, &v1::SecretService::Stub::ListSecrets,
      [](const v1::ListSecretsResponse& response, std::vector<std::string>& names) {
        for (const v1::SecretInfo& secret : response.secrets()) names.push_back(secret.name());
      });
}

std::vector<std::string> BundleNames(Context& context) {
  return Listed<v1::ArtifactService>(
      context, &v1::ArtifactService::Stub::ListBundles,
      [](const v1::ListBundlesResponse& response, std::vector<std::string>& names) {
        for (const v1::Bundle& bundle : response.bundles())
          names.push_back(ShortDigest(bundle.sha256()));
      });
}

std::vector<std::string> ChannelNames(Context& context) {
  return Listed<v1::NotificationService>(
      context, &v1::NotificationService::Stub::ListNotificationChannels,
      [](const v1::ListNotificationChannelsResponse& response, std::vector<std::string>& names) {
        for (const v1::NotificationChannel& channel : response.channels())
          names.push_back(channel.name());
      });
}

std::vector<std::string> SnapshotNames(Context& context) {
  return Listed<v1::SnapshotService>(
      context, &v1::SnapshotService::Stub::ListSnapshots,
      [](const v1::ListSnapshotsResponse& response, std::vector<std::string>& names) {
        for (const v1::Snapshot& snapshot : response.snapshots()) names.push_back(snapshot.name());
      });
}

// Names, and each build of them.
std::vector<std::string> ImageNames(Context& context) {
  return Listed<v1::ImageService>(
      context, &v1::ImageService::Stub::ListImages,
      [](const v1::ListImagesResponse& response, std::vector<std::string>& names) {
        for (const v1::Image& image : response.images()) {
          const std::string& name = image.manifest().name();
          if (names.empty() || !absl::StartsWith(names.back(), absl::StrCat(name, "@")))
            names.push_back(name);
          names.push_back(BuildName(name, image.digest()));
        }
      });
}

// The YAML files of a folder in the current directory, without their extension.
std::vector<std::string> FilesIn(const char* folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  return names;
}

std::vector<std::string> StackNames() { return FilesIn("playbooks/stacks"); }

// The candidates for an argument of a kind (its type_name); without a row the shell offers files.
struct KindRow {
  absl::string_view kind;
  std::vector<std::string> (*values)(Context&);
  bool is_list = false;  // several may be given, separated by commas
};
const KindRow kKinds[] = {
    {"NODE", NodeNames},
    {"HOSTLIST", NodeNames, /*is_list=*/true},
    {"NODES", Selectors, /*is_list=*/true},
    {"RUN", RunIds},
    {"ROLLOUT", RolloutIds},
    {"VALIDATION", ValidationIds},
    {"BUNDLE", BundleNames},
    {"BUNDLE|SITE", BundleNames},
    {"SECRET", SecretNames},
    {"CHANNEL", ChannelNames},
    {"SNAPSHOT", SnapshotNames},
    {"IMAGE", ImageNames},
    {"SUITE", [](Context&) { return FilesIn("playbooks/suites"); }},
    {"STACK", [](Context&) { return StackNames(); }},
    {"STACK|NODES",
     [](Context& context) {
       std::vector<std::string> names = StackNames();
       for (std::string& name : Selectors(context)) names.push_back(std::move(name));
       return names;
     }},
    {"TAG", [](Context&) { return SiteTags(kPlaybooks); }, /*is_list=*/true},
    {"PLAYBOOK_ROLE", [](Context&) { return SiteRoles(kPlaybooks); }, /*is_list=*/true},
    {"ROLE",
     [](Context&) {
       return std::vector<std::string>{"viewer", "operator", "admin"};
     }},
    {"FORMAT",
     [](Context&) {
       return std::vector<std::string>{"table", "json", "yaml"};
     }},
    {"TOPIC", [](Context&) { return HelpTopics(); }},
    {"SHELL",
     [](Context&) {
       return std::vector<std::string>{"bash", "zsh", "fish"};
     }},
};

// The candidates for `last`, the word that is being typed; for a list, for its last element.
std::vector<std::string> Values(Context& context, const std::string& kind,
                                const std::string& last) {
  const auto row = std::find_if(std::begin(kKinds), std::end(kKinds),
                                [&](const KindRow& each) { return each.kind == kind; });
  if (row == std::end(kKinds)) return {};
  std::vector<std::string> values = row->values(context);
  const size_t comma = last.rfind(',');
  if (!row->is_list || comma == std::string::npos) return values;
  for (std::string& value : values) value = absl::StrCat(last.substr(0, comma + 1), value);
  return values;
}

bool TakesValue(const CLI::Option* option) { return option->get_items_expected_max() > 0; }

const CLI::App* FindSubcommand(const CLI::App* command, const std::string& word) {
  for (const CLI::App* sub : command->get_subcommands(nullptr))
    if (sub->get_name() == word) return sub;
  return nullptr;
}

// The option of `command` or its parents that `word` names, or nullptr.
const CLI::Option* FindOption(const CLI::App* command, const std::string& word) {
  for (; command != nullptr; command = command->get_parent())
    for (const CLI::Option* option : command->get_options())
      if (option->check_name(word)) return option;
  return nullptr;
}

void AddOptionNames(const CLI::App* command, std::vector<std::string>& out) {
  for (const CLI::Option* option : command->get_options()) {
    for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
    for (const std::string& name : option->get_snames()) out.push_back("-" + name);
  }
}

// The candidates for the last of `words`; those before it are complete.
std::vector<std::string> Complete(Context& context, const CLI::App& root,
                                  const std::vector<std::string>& words) {
  const CLI::App* command = &root;
  const CLI::Option* pending = nullptr;  // an option whose value comes next
  size_t positionals = 0;
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (pending != nullptr) {
      pending = nullptr;
    } else if (absl::StartsWith(words[i], "-")) {
      const CLI::Option* option = FindOption(command, words[i]);
      if (option != nullptr && TakesValue(option)) pending = option;
    } else if (const CLI::App* next = FindSubcommand(command, words[i])) {
      command = next;
      positionals = 0;
    } else {
      ++positionals;
    }
  }
  const std::string& last = words.back();
  std::vector<std::string> all;
  if (pending != nullptr) {
    all = Values(context, pending->get_type_name(), last);
  } else if (absl::StartsWith(last, "-")) {
    for (const CLI::App* app = command; app != nullptr; app = app->get_parent())
      AddOptionNames(app, all);
  } else {
    for (const CLI::App* sub : command->get_subcommands(nullptr))
      if (!sub->get_group().empty()) all.push_back(sub->get_name());
    size_t position = 0;
    for (const CLI::Option* option : command->get_options())
      if (option->get_positional() && position++ == positionals)
        for (std::string& value : Values(context, option->get_type_name(), last))
          all.push_back(std::move(value));
  }
  std::vector<std::string> fitting;
  for (std::string& candidate : all)
    if (absl::StartsWith(candidate, last)) fitting.push_back(std::move(candidate));
  return fitting;
}

}  // namespace

void AddCompletion(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("completion", "Print a shell's completion script");
  auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->type_name("SHELL")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""));
  command->footer("For bash: muster completion bash > /etc/bash_completion.d/muster");
  SetAction(command, context, [shell] {
    std::cout << (*shell == "bash" ? kBash : *shell == "zsh" ? kZsh : kFish);
    return kExitClean;
  });
}

std::vector<std::string> CompleteWords(const CLI::App& app, Context& context,
                                       std::vector<std::string> words) {
  if (!words.empty() && words.front() == "--") words.erase(words.begin());
  if (words.empty()) words.push_back("");
  return Complete(context, app, words);
}

}  // namespace muster::cli
