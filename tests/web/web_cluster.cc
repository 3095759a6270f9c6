// A cluster for the page's test: the real musterd on the loopback with simulated agents, some of
// them with something wrong.
//
//   web_cluster MUSTERD MUSTER SITE NODES
//
// Prints "ready FOLDER" when all agents are connected; FOLDER/etc/admin has an administrator's
// credentials. Runs until its standard input ends.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "bench/swarm/swarm_cluster.h"
#include "common/base/status.h"
#include "controller/gate/service_state.h"
#include "controller/store/soci/store.h"
#include "controller/store/tables.h"
#include "controller/validation/schedule/validation_state.h"
#include "controller/validation/verdict/result_blob.h"

namespace muster::testing {
namespace {

using controller::validation::ServiceState;

constexpr size_t kNodesInRack = 40;
constexpr size_t kRacksAtSwitch = 8;
// One node is quarantined, one is held by a person, and one has a machine that is off.
constexpr size_t kQuarantinedOf = 47;
constexpr size_t kHeldOf = 61;
constexpr size_t kOffOf = 84;

bool IsOneOf(size_t i, size_t of, size_t count) {
  // A small cluster has one of each, too.
  return count < of ? i == count - 1 - of % 3 && count > 4 : i % of == of / 2;
}

absl::Status WriteInventory(const std::string& folder, size_t nodes) {
  std::ofstream file(folder + "/inventory/cluster.yaml");
  file << "cluster: swarm\nracks:\n";
  for (size_t first = 1, rack = 0; first < nodes; first += kNodesInRack, ++rack) {
    file << absl::StrFormat("  r%02d: {switch: leaf%02d, nodes: \"c[%05d-%05d]\"}\n", rack + 1,
                            rack / kRacksAtSwitch + 1, first,
                            std::min(first + kNodesInRack, nodes) - 1);
  }
  file << "nodes:\n  login1: {role: login, address: 10.0.0.1}\n"
       << absl::StrFormat("  \"c[00001-%05d]\": {role: compute}\n", nodes - 1)
       << "partitions:\n  gpu: {nodes: compute, default: true}\n";
  return file.flush().good() ? absl::OkStatus()
                             : absl::InternalError("the inventory cannot be written");
}

// As if the nodes had been configured and validated before.
absl::Status WriteStates(const std::string& folder, const std::vector<AgentSwarm::Machine>& all) {
  ASSIGN_OR_RETURN(const std::unique_ptr<controller::Store> store,
                   controller::OpenStore(folder + "/state/muster.db"));
  const absl::Time now = absl::Now();
  return store->Update([&](controller::Transaction& txn) -> absl::Status {
    for (size_t i = 0; i < all.size(); ++i) {
      ASSIGN_OR_RETURN(controller::NodeRecord node, txn.nodes().GetByName(all[i].name));
      node.state = controller::NodeRecord::kConfigured;
      RETURN_IF_ERROR(txn.nodes().Put(node));
      if (i == 0) continue;  // the login node takes no jobs
      const bool is_bad = IsOneOf(i, kQuarantinedOf, all.size());
      const ServiceState state = is_bad ? ServiceState::kQuarantined : ServiceState::kInService;
      RETURN_IF_ERROR(txn.node_service().PutService({node.uuid, static_cast<int>(state), "", now}));
      if (IsOneOf(i, kHeldOf, all.size())) {
        RETURN_IF_ERROR(txn.node_holds().Put(
            {node.uuid, "admin:root", "<b>bad fan</b>", now - absl::Hours(5)}));
      }
    }
    return absl::OkStatus();
  });
}

// A validation that has measured between some workers; the way from the second one on is slow.
absl::Status WriteMeasurements(const std::string& folder,
                               const std::vector<AgentSwarm::Machine>& all) {
  constexpr char kId[] = "v-measured";
  constexpr size_t kMeasured = 6;
  if (all.size() <= kMeasured) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::unique_ptr<controller::Store> store,
                   controller::OpenStore(folder + "/state/muster.db"));
  const absl::Time now = absl::Now();
  return store->Update([&](controller::Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.validations().Put({.validation_id = kId,
                                           .state = controller::ValidationRecord::kDone,
                                           .suite = "full",
                                           .created_by = "admin:root",
                                           .created_at = now - absl::Hours(2),
                                           .finished_at = now - absl::Hours(1)}));
    for (size_t from = 1; from <= kMeasured; ++from) {
      const std::string& node = all[from].name;
      v1::NodeVerdict verdict;
      verdict.set_node(node);
      verdict.set_outcome(v1::OUTCOME_PASS);
      RETURN_IF_ERROR(txn.validations().PutNode({.validation_id = kId,
                                                 .node = node,
                                                 .node_uuid = all[from].uuid,
                                                 .outcome = v1::OUTCOME_PASS,
                                                 .verdict = verdict.SerializeAsString()}));
      for (size_t to = 1; to <= kMeasured; ++to) {
        if (to == from) continue;
        const std::string check = absl::StrCat(kId, "/", from, "-", to);
        RETURN_IF_ERROR(txn.validation_checks().Put(
            {.check_id = check,
             .validation_id = kId,
             .execution_id = check,
             .node = node,
             .members = absl::StrCat(node, " ", all[to].name),
             .stage_name = "network",
             .name = "nic-pair",
             .phase = static_cast<int>(controller::validation::PartPhase::kEnded),
             .outcome = v1::OUTCOME_PASS}));
        v1::CheckResult result;
        result.set_check("nic-pair");
        result.set_outcome(v1::OUTCOME_PASS);
        v1::Metric& metric = *result.add_metrics();
        metric.set_name("throughput");
        metric.set_unit("GB/s");
        metric.set_value(from == 2 ? 11.5 : 23.5 + 0.1 * static_cast<double>(to));
        RETURN_IF_ERROR(txn.validation_checks().PutResult(
            {check, now - absl::Hours(1), controller::validation::PackResult(result), ""}));
      }
    }
    return absl::OkStatus();
  });
}

absl::Status Run(const bench::SwarmCluster::Programs& programs, size_t nodes) {
  ASSIGN_OR_RETURN(const std::unique_ptr<bench::SwarmCluster> cluster,
                   bench::SwarmCluster::Make(programs, nodes));
  RETURN_IF_ERROR(WriteInventory(cluster->folder(), nodes));
  std::vector<AgentSwarm::Machine> machines = cluster->TakeMachines();
  RETURN_IF_ERROR(WriteStates(cluster->folder(), machines));
  RETURN_IF_ERROR(WriteMeasurements(cluster->folder(), machines));
  RETURN_IF_ERROR(cluster->StartController());
  RETURN_IF_ERROR(
      cluster->Muster({"inventory", "apply", cluster->folder() + "/inventory", "--yes"}));
  std::vector<AgentSwarm::Machine> on;
  for (size_t i = 0; i < machines.size(); ++i) {
    if (!IsOneOf(i, kOffOf, nodes)) on.push_back(machines[i]);
  }
  const size_t count = on.size();
  AgentSwarm swarm(cluster->SwarmOptions(), std::move(on));
  swarm.Start();
  if (!swarm.AwaitGreeted(count, absl::Minutes(2)))
    return absl::DeadlineExceededError(absl::StrCat(swarm.greeted(), " agents connected"));
  std::printf("ready %s\n", cluster->folder().c_str());
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) continue;
  swarm.Stop();
  return absl::OkStatus();
}

}  // namespace
}  // namespace muster::testing

int main(int argc, char** argv) {
  size_t nodes = 0;
  if (argc != 5 || !absl::SimpleAtoi(argv[4], &nodes) || nodes < 2) {
    std::fprintf(stderr, "usage: web_cluster MUSTERD MUSTER SITE NODES\n");
    return 2;
  }
  const absl::Status ran = muster::testing::Run({argv[1], argv[2], argv[3]}, nodes);
  if (ran.ok()) return 0;
  std::fprintf(stderr, "web_cluster: %s\n", std::string(ran.message()).c_str());
  return 1;
}
