#include "common/base/text/join_word.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace muster {

std::string JoinWord::ToString() const {
  return absl::StrJoin({node, enrollment, controller, ca_pin}, ",");
}

absl::StatusOr<JoinWord> ParseJoinWord(absl::string_view value) {
  const std::vector<std::string> parts = absl::StrSplit(value, ',');
  const bool is_whole =
      parts.size() == 4 && std::none_of(parts.begin() + 1, parts.end(),
                                        [](const std::string& part) { return part.empty(); });
  if (!is_whole)
    return absl::InvalidArgumentError(
        "muster.join=NODE,ENROLLMENT,CONTROLLER,CA-PIN has four parts; the boot server writes it "
        "where the inventory has `boot_join`");
  return JoinWord{parts[0], parts[1], parts[2], parts[3]};
}

}  // namespace muster
