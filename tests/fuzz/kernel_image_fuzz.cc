// No content may crash the readers of EFI programs and of the ledger of what was signed. A program
// that is accepted has a digest, and a ledger that is accepted is read back as it was written.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "cli/image/kernel_image.h"
#include "cli/image/signing/signing_ledger.h"
#include "common/base/digest.h"
#include "tests/fuzz/fuzz_target.h"

FUZZ_TARGET(kernel_image, data, size) {
  using namespace muster;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto stub = cli::ReadStub(text);
  if (!stub.ok() && stub.status().message().empty()) std::abort();
  const auto program = cli::ReadSignedProgram(text);
  if (program.ok() &&
      (!IsSha256(program->digest) || (!program->root.empty() && !IsSha256(program->root))))
    std::abort();
  const auto ledger = cli::ReadSigningLedger(text);
  if (!ledger.ok()) return 0;
  const auto again = cli::ReadSigningLedger(cli::WriteSigningLedger(*ledger));
  if (!again.ok() || again->size() != ledger->size()) std::abort();
  for (const cli::SignedEntry& entry : *ledger) {
    const auto meant = cli::FindMeant(*ledger, entry.label);
    if (meant.ok() && meant->empty()) std::abort();
  }
  return 0;
}
