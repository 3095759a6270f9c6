// Who may call what: the one table.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "controller/enrollment/identity.h"

namespace muster::controller {

// Users rise: an operator may what a viewer may, an admin may what both may. Nodes are apart.
enum class Audience { kViewers, kOperators, kAdmins, kNodes, kStrangers };

struct AuthorizationRow {
  absl::string_view rpc;  // as on the wire: "/muster.v1.NodeService/ListNodes"
  Audience audience;
  absl::string_view verb;  // of the command line that calls it first; empty: no person does
};

// Every RPC of muster.v1 has a row; what has none is denied.
absl::Span<const AuthorizationRow> AuthorizationTable();

// Whether the table has `rpc` for nodes.
bool IsForNodes(absl::string_view rpc);

// PermissionDenied, saying who may, unless the table lets `identity` call `rpc`: "eve is a viewer;
// apply needs operator or administrator". `verb` as under kVerbMetadata; empty, or no words at all:
// as the table has it. Rows for strangers let nobody in here: the enrolment listener is another
// server.
absl::Status Authorize(absl::string_view rpc, const Identity& identity,
                       absl::string_view verb = "");

}  // namespace muster::controller
