// Secrets for explanations, in which their names stand for their values.
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
// generated. Never reads a value, so none can leak. Not thread-safe.
class NamedSecrets final : public SecretSource {
 public:
  // By name: the roles that may read it (see CheckReader).
  explicit NamedSecrets(const std::map<std::string, std::string>& existing) : existing_(existing) {}

  absl::StatusOr<std::string> Get(absl::string_view name, std::optional<uint32_t> generate_bytes,
                                  const SecretReader& reader) override;
  // Does not check which playbook rotates the secret: any may.
  absl::StatusOr<std::string> GetNext(absl::string_view name, const SecretReader&) override {
    return Name(std::string(name));
  }

  // The secrets that were asked for, and whether they exist.
  const std::map<std::string, bool>& asked() const { return asked_; }

 private:
  absl::StatusOr<std::string> Name(const std::string& name);

  const std::map<std::string, std::string>& existing_;
  std::map<std::string, bool> asked_;
};

// The value, with each secret in it replaced by the text "[secret NAME]".
Value WithNames(const Value& value);

}  // namespace muster::controller::playbook
