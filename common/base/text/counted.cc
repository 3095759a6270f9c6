#include "common/base/text/counted.h"

namespace muster {
namespace {

bool IsOne(const absl::AlphaNum& count) { return count.Piece() == "1"; }

}  // namespace

std::string Counted(const absl::AlphaNum& count, absl::string_view thing) {
  return absl::StrCat(count, " ", thing, IsOne(count) ? "" : "s");
}

std::string CountedAre(const absl::AlphaNum& count, absl::string_view thing) {
  return absl::StrCat(Counted(count, thing), IsOne(count) ? " is" : " are");
}

}  // namespace muster
