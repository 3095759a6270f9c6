// Secrets for explanations: their names stand for their values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/value/secret_value.h"
#include "controller/playbook/compiler.h"

namespace muster::controller::playbook {

// Gives "[secret NAME]" for each secret that exists or would be generated. No value is ever read,
// so none can be told. Not thread-safe.
class NamedSecrets final : public SecretSource {
 public:
  explicit NamedSecrets(const std::set<std::string>& existing) : existing_(existing) {}

  absl::StatusOr<std::string> Get(absl::string_view name,
                                  std::optional<uint32_t> generate_bytes) override;
  absl::StatusOr<std::string> GetNext(absl::string_view name) override {
    return Get(name, std::nullopt);
  }

  // Those that were asked for, and whether they exist.
  const std::map<std::string, bool>& asked() const { return asked_; }

 private:
  const std::set<std::string>& existing_;
  std::map<std::string, bool> asked_;
};

// The value with each of these secrets as the text "[secret NAME]".
Value WithNames(const Value& value);

}  // namespace muster::controller::playbook
