// What a machine writes to its serial console, in pieces; the first byte of each is its length.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "common/base/text/plain_text.h"
#include "controller/console/console_text.h"
#include "tests/fuzz/fuzz_target.h"

FUZZ_TARGET(console_text, data, size) {
  using muster::controller::console::ConsoleRow;
  using muster::controller::console::ConsoleText;
  ConsoleText text;
  absl::Time now = absl::FromUnixSeconds(1'900'000'000);
  absl::string_view rest(reinterpret_cast<const char*>(data), size);
  while (!rest.empty()) {
    const size_t length = std::min<size_t>(static_cast<uint8_t>(rest[0]), rest.size() - 1);
    text.Append(rest.substr(1, length), now);
    rest.remove_prefix(1 + length);
    now += absl::Milliseconds(300);
  }
  text.Settle(absl::InfiniteFuture());
  uint64_t last = 0;
  size_t bytes = 0;
  for (const ConsoleRow& row : text.After(0, SIZE_MAX)) {
    bytes += row.text.size();
    if (row.text.empty() || row.number <= last || !muster::IsPlain(row.text, muster::Lines::kOne))
      std::abort();
    last = row.number;
  }
  if (bytes > ConsoleText::kMostBytes) std::abort();
  return 0;
}
