#include "common/checks/check_tables.h"

namespace muster::checks {

absl::Span<const CheckSpec> SystemChecks() { return {}; }

}  // namespace muster::checks
