#include "agent/validation/worker_process.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "agent/validation/worker_output.h"
#include "common/base/proto_time.h"

namespace muster::agent {
namespace {

bool IsWord(absl::string_view text) {
  if (text.empty() || !absl::ascii_islower(text.front())) return false;
  for (const char c : text) {
    if (!absl::ascii_islower(c) && !absl::ascii_isdigit(c) && c != '-' && c != '_') return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<sys::ProcessSpec> WorkerProcess(absl::string_view program,
                                               const v1::StartCheck& check,
                                               absl::string_view key_file) {
  if (!IsWord(check.check())) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", absl::CHexEscape(check.check()), "' is not the name of a check"));
  }
  sys::ProcessSpec spec = {.argv = {std::string(program), check.check(), "--json"}};
  for (const auto& [name, value] : check.parameters()) {
    if (!IsWord(name) || value.find('\0') != std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", absl::CHexEscape(name), "' is not a parameter of a check"));
    }
    spec.argv.push_back(absl::StrCat("--set=", name, "=", value));
  }
  if (check.ranks() > 1) {
    spec.argv.push_back(absl::StrCat("--rank=", check.rank()));
    spec.argv.push_back(absl::StrCat("--ranks=", check.ranks()));
    // A file: everybody can read arguments.
    spec.argv.push_back(absl::StrCat("--key-file=", key_file));
  }
  if (check.force()) spec.argv.emplace_back("--force");
  spec.timeout = ToDuration(check.time_limit());
  spec.max_output = 4096;
  spec.max_line = WorkerOutput::kMaxLineBytes;
  return spec;
}

}  // namespace muster::agent
