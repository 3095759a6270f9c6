// Packages for machines on which nothing of Muster is installed yet, and for those that take their
// updates from a snapshot.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "controller/http/http_server.h"

namespace muster::controller {

// Serves /packages/<name>.deb from `folder`: no listing, no links out of it. Downloads are checked
// against the digest in the join line, so plain HTTP is enough. `others` answers all other paths;
// nullptr: there are none. One address has 64 connections. `listen` and errors as of HttpServer.
absl::StatusOr<std::unique_ptr<HttpServer>> StartPackageServer(const std::string& listen,
                                                               const std::string& folder,
                                                               HttpServer::Handler others);

// An open file for the path, or -1.
int OpenPackage(const std::string& folder, absl::string_view path);

}  // namespace muster::controller
