// Lines on the standard input of muster-burnin: any bytes end as an error, a stop or endpoints that
// can be dialled.
#include <cstdint>
#include <cstdlib>

#include "absl/strings/str_split.h"
#include "agent/burnin/input_line.h"
#include "tests/fuzz/fuzz_target.h"

FUZZ_TARGET(burnin_input, data, size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const auto input = muster::burnin::ParseInputLine(line);
    if (!input.ok()) continue;
    if (input->stop.empty() == input->peers.empty()) std::abort();
    for (const muster::burnin::Endpoint& peer : input->peers)
      if (peer.address.empty() || peer.port < 1 || peer.port > 65535) std::abort();
  }
  return 0;
}
