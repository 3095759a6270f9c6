// Makes join tokens, for `token create` and `node bootstrap`.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace muster::v1 {
class CreateTokenResponse;
}

namespace muster::cli {

class Connection;

struct TokenOptions {
  std::string nodes;       // host list
  std::string ttl = "1h";  // as ParseDurationOption() reads it
  bool require_approval = false;
};

absl::Status CreateTokens(const Connection& connection, const TokenOptions& options,
                          v1::CreateTokenResponse* response);

}  // namespace muster::cli
