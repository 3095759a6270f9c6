// Facts of one node, through the templates of all shipped roles: whatever a report that obeys the
// rules says, every file of every plan holds only lines that this program knows, and no other node
// is left without its plan.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <google/protobuf/stubs/logging.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/value/proto_value.h"
#include "common/wire/message_rules.h"
#include "controller/inventory/inventory.h"
#include "controller/playbook/compiler.h"
#include "muster/v1/facts.pb.h"
#include "muster/v1/plan.pb.h"
#include "tests/fakes/fake_secret_source.h"
#include "tests/fixtures/healthy_node.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::controller {
namespace {

constexpr char kHostile[] = "c002";

v1::Facts HonestFacts(int gpus, bool cgroups) {
  v1::Facts facts = testing::HealthyNode(gpus);
  facts.mutable_cgroup()->set_usable_by_slurm(cgroups);
  v1::SshHostKey& key = *facts.add_ssh_host_keys();
  key.set_type("ssh-ed25519");
  key.set_key("AAAAC3NzaC1lZDI1NTE5AAAAIDg/unZORGmxy62IvYCumurDcGb1Vn1BZYoEWFdgUWhb");
  return facts;
}

// The lines of the files, by path.
using FileLines = std::map<std::string, std::set<std::string>>;

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

class Site {
 public:
  Site() {
    const std::filesystem::path folder = MUSTER_PLAYBOOKS;
    FileTree files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      files["playbooks/" + entry.path().lexically_relative(folder).string()] =
          std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    }
    playbook_ = LoadPlaybook(files, "playbooks/site.yaml").value();
    inventory_ = ParseInventory({{"cluster.yaml",
                                  "cluster: test\nnodes:\n  login1: {role: login, address: "
                                  "10.0.0.1}\n  \"c[001-002]\": {role: compute}\n"
                                  "vars: {ssh_known_hosts: true}\n"}})
                     .value();
    for (const int gpus : {0, 2}) {
      for (const bool cgroups : {false, true}) {
        for (const auto& [path, lines] : Compile(HonestFacts(gpus, cgroups))) {
          known_[path].insert(lines.begin(), lines.end());
        }
      }
    }
    if (known_.count("/etc/slurm/slurm.conf") == 0) Fail("the site has no slurm.conf");
  }

  void Try(const v1::Facts& facts) const {
    for (const auto& [path, lines] : Compile(facts)) {
      const auto known = known_.find(path);
      for (const std::string& line : lines) {
        if (known != known_.end() && known->second.count(line) > 0) continue;
        if (!IsAllowed(path, line)) Fail(absl::StrCat(path, " got the line: ", line));
      }
    }
  }

 private:
  // The lines that facts may change.
  static bool IsAllowed(const std::string& path, const std::string& line) {
    static const std::regex kNode(
        "NodeName=(c\\[001-002\\]|c00[12]) CPUs=[0-9]+ Boards=[0-9]+ Sockets=[0-9]+ "
        "CoresPerSocket=[0-9]+ ThreadsPerCore=[0-9]+ RealMemory=[0-9]+"
        "( Gres=gpu:[A-Za-z0-9_.-]+:[0-9]+(,gpu:[A-Za-z0-9_.-]+:[0-9]+)*)? State=UNKNOWN");
    static const std::regex kPartition(
        "PartitionName=batch Nodes=(c\\[001-002\\]|c00[12]) Default=YES MaxTime=7-00:00:00 "
        "State=UP( DefMemPerCPU=[0-9]+)?");
    static const std::regex kGpu(
        "NodeName=(c\\[001-002\\]|c00[12]) (AutoDetect=nvml|Name=gpu Type=[A-Za-z0-9_.-]+ "
        "File=/dev/[A-Za-z0-9_./-]+( Cores=[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)?)");
    static const std::regex kWait(
        "ExecStartPre=/usr/local/lib/muster/wait-for-gpus( /dev/[A-Za-z0-9_./-]+)+");
    static const std::regex kHostKey(
        "c002 (ssh-ed25519|ecdsa-sha2-nistp256|ssh-rsa) [A-Za-z0-9+/=]+");
    if (path == "/etc/ssh/ssh_known_hosts") return std::regex_match(line, kHostKey);
    if (path == "/etc/slurm/slurm.conf")
      return std::regex_match(line, kNode) || std::regex_match(line, kPartition);
    if (path == "/etc/systemd/system/slurmd.service.d/muster.conf")
      return std::regex_match(line, kWait);
    return path == "/etc/slurm/gres.conf" && std::regex_match(line, kGpu);
  }

  FileLines Compile(const v1::Facts& hostile) const {
    const FactsByNode facts = {{"login1", ProtoToValue(HonestFacts(0, true))},
                               {"c001", ProtoToValue(HonestFacts(2, true))},
                               {kHostile, ProtoToValue(hostile)}};
    testing::FakeSecretSource secrets;
    FileLines lines;
    for (size_t play = 0; play < PlayNames(*playbook_).size(); ++play) {
      const auto nodes = SelectPlayNodes(*playbook_, play, inventory_, "");
      if (!nodes.ok()) Fail(std::string(nodes.status().message()));
      for (const NodePlan& plan :
           CompilePlay(*playbook_, play, inventory_, facts, *nodes, {}, secrets)) {
        if (plan.plan != nullptr) {
          AddLines(*plan.plan, lines);
        } else if (plan.node != kHostile) {
          Fail(absl::StrCat(plan.node, " has no plan: ", std::string(plan.error.message())));
        }
      }
    }
    return lines;
  }

  static void AddLines(const v1::Plan& plan, FileLines& lines) {
    for (const v1::RolePlan& role : plan.roles()) {
      for (const v1::Step& step : role.steps()) {
        if (!step.has_file()) continue;
        const std::vector<std::string> all = absl::StrSplit(step.file().content(), '\n');
        lines[step.file().path()].insert(all.begin(), all.end());
      }
    }
  }

  std::shared_ptr<const Playbook> playbook_;
  Inventory inventory_;
  FileLines known_;
};

}  // namespace
}  // namespace muster::controller

FUZZ_TARGET(facts_templates, data, size) {
  const google::protobuf::LogSilencer silencer;
  static const auto& site = *new muster::controller::Site();
  muster::v1::Facts facts;
  if (!facts.ParseFromArray(data, static_cast<int>(size))) return 0;
  // Facts that break a rule never get this far, but an agent's cleaned version of them does.
  if (!muster::wire::Check(facts).ok()) {
    muster::wire::Fit(facts, [](absl::string_view, absl::string_view) {});
    if (!muster::wire::Check(facts).ok()) muster::controller::Fail("Fit() left a breach");
  }
  site.Try(facts);
  return 0;
}
