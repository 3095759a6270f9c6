// The one table of who may call what.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "controller/enrollment/identity.h"

namespace muster::controller {

// Users' roles include each other: operators may do what viewers may, administrators what both may.
// Nodes are separate.
enum class Audience { kViewers, kOperators, kAdmins, kNodes, kStrangers };

struct AuthorizationRow {
  absl::string_view rpc;  // as on the wire: "/muster.v1.NodeService/ListNodes"
  Audience audience;
  absl::string_view verb;  // of the command line that calls it first; empty: people do not call it
};

// Every RPC of muster.v1 has a row; RPCs without one are denied.
absl::Span<const AuthorizationRow> AuthorizationTable();

// Whether the table has `rpc` for nodes.
bool IsForNodes(absl::string_view rpc);

// PermissionDenied, saying who may, unless the table lets `identity` call `rpc`: "eve is a viewer;
// apply needs operator or administrator". `verb` comes from kVerbMetadata; when it is empty or has
// no words, the table's is used. Rows for strangers admit nobody here: the enrollment listener is
// another server.
absl::Status Authorize(absl::string_view rpc, const Identity& identity,
                       absl::string_view verb = "");

}  // namespace muster::controller
