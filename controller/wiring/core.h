// The parts of the controller that nodes and people talk to, and that everything else works with.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/worker.h"
#include "common/sys/file_system.h"
#include "common/sys/process/process.h"
#include "controller/artifact/blob_store.h"
#include "controller/enrollment/certificate_authority.h"
#include "controller/enrollment/denylist.h"
#include "controller/enrollment/enrollment.h"
#include "controller/enrollment/token_requests.h"
#include "controller/image/image_store.h"
#include "controller/run/plan/stored_inventory.h"
#include "controller/secret/secret_store.h"
#include "controller/service/front/call_shares.h"
#include "controller/service/front/credentials.h"
#include "controller/session/facts_keeper.h"
#include "controller/session/listener_fanout.h"
#include "controller/session/open_calls.h"
#include "controller/session/session_registry.h"
#include "controller/session_log.h"
#include "controller/snapshot/snapshot_store.h"
#include "controller/store/store.h"

namespace muster {
class Clock;
}
namespace muster::sys {
class FileSystem;
}

namespace muster::controller {

struct Config;

// What is opened before anything is built on it.
struct Resources {
  std::unique_ptr<Store> store;
  std::unique_ptr<DiskBlobStore> blobs;
  std::unique_ptr<SecretStore> secrets;
  std::unique_ptr<snapshot::SnapshotStore> snapshots;
  std::unique_ptr<image::ImageStore> images;
  CertificateAuthority ca;
  TlsIdentity tls;
  // The pin of the root that signed our own certificate, as join lines name it.
  std::string join_pin;
  std::string tpm_key_file;  // see SealingTools
};

// The error names what could not be had, and the remedy.
absl::StatusOr<Resources> OpenResources(const Config& config, Clock& clock, sys::FileSystem& files);

// Who may speak, and the sessions of those who do. Ordered by reference: each member uses those
// before it alone.
struct Core {
  Core(Resources opened, Clock& clock);
  Core(const Core&) = delete;

  void Start();
  // Ends the threads; after the servers.
  void Stop();

  Clock& clock;
  sys::RealFileSystem files;
  sys::RealProcessRunner processes;
  Resources resources;
  Denylist denylist;
  CallShares shares;
  StoredInventory inventory;
  ListenerFanout listeners;  // attach all before Start()
  SessionRegistry registry;
  Enrollment enrollment;
  TokenRequests token_requests;
  SessionLog session_log;
  FactsKeeper facts;
  OpenCalls open_calls;
  Worker sweeper;
};

}  // namespace muster::controller
