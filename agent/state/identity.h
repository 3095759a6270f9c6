// This node's identity to the controller, on disk.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/state/paths.h"

namespace muster::sys {
class FileSystem;
}

namespace muster::agent {

struct Identity {
  std::string node_uuid;
  std::string node_name;
  std::string controller_address;  // host:port of the main listener
  std::string ca_pem;
  std::string certificate_pem;
  std::string key_pem;
};

// NotFound: the node has not joined; the message says how to. FailedPrecondition: files exist but
// do not fit together. Finishes a renewal that a crash interrupted.
absl::StatusOr<Identity> LoadIdentity(const Paths& paths, sys::FileSystem& files);

// Whether LoadIdentity() would find a node that has joined.
absl::StatusOr<bool> HasIdentity(const Paths& paths, sys::FileSystem& files);

// Remembers that the controller itself has ended this membership: the remaining files must not
// prevent a new join. StoreIdentity() and a welcome forget it.
absl::Status MarkTurnedAway(const Paths& paths, sys::FileSystem& files);
absl::StatusOr<bool> WasTurnedAway(const Paths& paths, sys::FileSystem& files);

// Writes all files of a new identity; agent.json, which makes it valid, comes last.
absl::Status StoreIdentity(const Paths& paths, const Identity& identity, sys::FileSystem& files);

// Replaces the old pair by a renewed certificate with its new key. A crash at any instant leaves
// one of the two pairs. On a full disk the reserve makes room; ResourceExhausted: there is none.
absl::Status ReplaceCertificate(const Paths& paths, absl::string_view ca_pem,
                                absl::string_view certificate_pem, absl::string_view key_pem,
                                sys::FileSystem& files);

// Makes the reserve, unless it is there: a disk that stays full must not cost the node its
// membership, nor keep a copied key unnoticed. ResourceExhausted: the disk has no room for it now.
absl::Status KeepReserve(const Paths& paths, sys::FileSystem& files);

// Makes the state folder and its subfolders, 0700.
absl::Status MakeStateDirectories(const Paths& paths, sys::FileSystem& files);

}  // namespace muster::agent
