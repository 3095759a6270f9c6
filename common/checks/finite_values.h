// Measured values that are numbers.
#pragma once

#include <cmath>

namespace muster {

// Removes those whose value is NaN or infinite: it was not measured, and for a verdict it is
// missing. `values`: a repeated field of messages with a `value`.
template <typename Values>
void DropNonFinite(Values& values) {
  int kept = 0;
  for (int i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i].value())) continue;
    if (kept != i) values.SwapElements(kept, i);
    ++kept;
  }
  values.DeleteSubrange(kept, values.size() - kept);
}

}  // namespace muster
