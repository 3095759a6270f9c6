// Paths of the files that must outlive the agent.
#pragma once

#include <string>
#include <utility>

namespace muster::agent {

// /var/lib/muster                root's alone: 0700, files 0600
// ├── node.uuid                  the identity this machine chose for itself at random
// ├── agent.json                 {"controller": "login1:7443", "node_name": "c001", …}
// ├── ca.crt                     the cluster's CA certificates
// ├── client.crt                 this node's certificate
// ├── client.key                 and its private key
// ├── client.key.new             of an unfinished renewal; see identity.h
// ├── reserve                    room for a renewal on a full disk; see identity.h
// ├── join.uuid join.key join.csr  of an unfinished join
// ├── greeted, greeted_by, upgrade/, controller-upgrade/
// │                              exchanges of the agent and of musterd; see upgrade_place.h
// ├── turned_away                the controller has ended this membership; a join needs no --force
// ├── journal/
// │   ├── lock                   held by the one agent that runs
// │   ├── journal                records; see journal_codec.h
// │   └── damage.txt             describes the last damaged journal, without its contents
// ├── records/<resource>/<key>    what resources remember; see resource_records.h
// ├── health                     what health monitoring remembers; HealthRecord
// ├── .freeipmi/                 descriptions of the sensors of the BMC, as its programs keep them
// ├── checks/<check id>           running checks, and reports not yet stored; check_files.h
// └── blobs/<sha256>             contents that unfinished plans name, fetched once;
//                                with .part and .part.from: on their way, see partial.h
class Paths {
 public:
  explicit Paths(std::string root = "/var/lib/muster") : root_(std::move(root)) {}

  const std::string& root() const { return root_; }
  std::string NodeUuid() const { return root_ + "/node.uuid"; }
  std::string AgentJson() const { return root_ + "/agent.json"; }
  std::string CaCertificate() const { return root_ + "/ca.crt"; }
  std::string ClientCertificate() const { return root_ + "/client.crt"; }
  std::string ClientKey() const { return root_ + "/client.key"; }
  std::string NewClientKey() const { return root_ + "/client.key.new"; }
  std::string Reserve() const { return root_ + "/reserve"; }
  std::string JoinUuid() const { return root_ + "/join.uuid"; }
  std::string JoinKey() const { return root_ + "/join.key"; }
  std::string JoinRequest() const { return root_ + "/join.csr"; }
  std::string TurnedAway() const { return root_ + "/turned_away"; }
  std::string Greeted() const { return root_ + "/greeted"; }
  std::string GreetedBy() const { return root_ + "/greeted_by"; }
  std::string UpgradeDirectory() const { return root_ + "/upgrade"; }
  std::string ControllerUpgradeDirectory() const { return root_ + "/controller-upgrade"; }
  std::string JournalDirectory() const { return root_ + "/journal"; }
  std::string RecordDirectory() const { return root_ + "/records"; }
  std::string Health() const { return root_ + "/health"; }
  std::string CheckDirectory() const { return root_ + "/checks"; }
  std::string BlobDirectory() const { return root_ + "/blobs"; }

 private:
  std::string root_;
};

}  // namespace muster::agent
