// Secrets for explanations: their names stand for their values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/value/secret_value.h"
#include "controller/playbook/compiler.h"

namespace muster::controller::playbook {

// Gives "[secret NAME]" for each secret that the reader may read and that exists or would be
// generated. No value is ever read, so none can be told. Not thread-safe.
class NamedSecrets final : public SecretSource {
 public:
  // By name: the roles that may read it (see CheckReader).
  explicit NamedSecrets(const std::map<std::string, std::string>& existing) : existing_(existing) {}

  absl::StatusOr<std::string> Get(absl::string_view name, std::optional<uint32_t> generate_bytes,
                                  const SecretReader& reader) override;
  // Which playbook rotates it is not asked here: it may.
  absl::StatusOr<std::string> GetNext(absl::string_view name, const SecretReader&) override {
    return Name(std::string(name));
  }

  // Those that were asked for, and whether they exist.
  const std::map<std::string, bool>& asked() const { return asked_; }

 private:
  absl::StatusOr<std::string> Name(const std::string& name);

  const std::map<std::string, std::string>& existing_;
  std::map<std::string, bool> asked_;
};

// The value with each of these secrets as the text "[secret NAME]".
Value WithNames(const Value& value);

}  // namespace muster::controller::playbook
