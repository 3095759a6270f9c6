// A person's credentials: the folder that `muster` reads (--config).
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace muster::cli {

class Connection;

struct Credentials {
  std::string controller;  // host:port
  std::string ca_pem;      // the roots
  std::string certificate_pem;
  std::string key_pem;
};

// Makes the folder (0700) and writes all files; each file appears whole.
absl::Status WriteCredentials(const std::string& folder, const Credentials& credentials);

// Fetches a certificate of the authority that signs now, for the same key, and the current roots,
// into the folder that the connection was opened with. The folder works wherever this is
// interrupted. The connection keeps using the credentials that it has read.
absl::Status RenewCredentials(const Connection& connection, absl::Time now);

}  // namespace muster::cli
