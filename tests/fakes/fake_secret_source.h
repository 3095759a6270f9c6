// Secrets for compiler tests: those of a map, and made-up ones if bytes are requested.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "controller/playbook/compiler.h"

namespace muster::testing {

class FakeSecretSource : public controller::SecretSource {
 public:
  absl::StatusOr<std::string> Get(absl::string_view name, std::optional<uint32_t> generate_bytes,
                                  const controller::SecretReader& reader) override {
    absl::MutexLock lock(mutex_.get());
    asked.emplace_back(name);
    readers.push_back(reader.role);
    const auto found = secrets.find(std::string(name));
    if (const absl::Status may = may_read(name, reader); !may.ok()) return may;
    if (found != secrets.end()) return found->second;
    if (!generate_bytes.has_value()) return absl::NotFoundError(absl::StrCat("no secret ", name));
    return secrets[std::string(name)] = std::string(*generate_bytes, 'x');
  }

  absl::StatusOr<std::string> GetNext(absl::string_view name,
                                      const controller::SecretReader&) override {
    const auto found = next.find(std::string(name));
    if (found != next.end()) return found->second;
    return absl::NotFoundError(absl::StrCat("no rotation of ", name));
  }

  std::map<std::string, std::string> secrets;
  std::map<std::string, std::string> next;  // of the secrets in rotation
  // Whether the reader may have the secret of that name.
  std::function<absl::Status(absl::string_view name, const controller::SecretReader& reader)>
      may_read =
          [](absl::string_view, const controller::SecretReader&) { return absl::OkStatus(); };
  std::vector<std::string> asked;    // names, in order
  std::vector<std::string> readers;  // the roles that asked for them

 private:
  // Several threads may ask at once; a test looks when they have.
  std::shared_ptr<absl::Mutex> mutex_ = std::make_shared<absl::Mutex>();
};

}  // namespace muster::testing
