#include "common/checks/check_tables.h"

namespace muster::checks {

absl::Span<const CheckSpec> NicChecks() { return {}; }

}  // namespace muster::checks
