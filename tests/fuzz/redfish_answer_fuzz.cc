// A BMC answers with whatever it likes. Only paths on the BMC itself and plain text come out of it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "common/base/text/plain_text.h"
#include "controller/power/redfish/redfish_answer.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::controller::power {
namespace {

void Check(bool holds) {
  if (!holds) std::abort();
}

void Read(absl::string_view body) {
  for (const char* id : {"", "1"}) {
    const auto path = ParseRedfishSystems(body, id);
    if (path.ok()) {
      Check(IsRedfishPath(*path));
    } else {
      Check(IsPlain(path.status().message(), Lines::kOne));
    }
  }
  const auto root = ParseRedfishRoot(body);
  Check(root.ok() ? IsRedfishPath(*root) : IsPlain(root.status().message(), Lines::kOne));
  const auto system = ParseRedfishSystem(body);
  if (system.ok()) {
    Check(system->reset_path.empty() || IsRedfishPath(system->reset_path));
    Check(system->reset_types.size() <= 32);
    Check(system->settings_path.empty() || IsRedfishPath(system->settings_path));
  } else {
    Check(IsPlain(system.status().message(), Lines::kOne));
  }
  Check(IsPlain(ParseRedfishBoot(body).etag, Lines::kOne));
  const std::string error = ParseRedfishError(body);
  Check(error.size() <= 200 && IsPlain(error, Lines::kOne));
}

}  // namespace
}  // namespace muster::controller::power

FUZZ_TARGET(redfish_answer, data, size) {
  muster::controller::power::Read({reinterpret_cast<const char*>(data), size});
  return 0;
}
