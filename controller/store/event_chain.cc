#include "controller/store/event_chain.h"

#include "absl/strings/str_cat.h"
#include "common/base/digest.h"

namespace muster::controller {
namespace {

void AppendField(absl::string_view field, std::string& out) {
  absl::StrAppend(&out, field.size(), ":", field, ";");
}

}  // namespace

std::string ChainHash(absl::string_view previous_hash, const EventRecord& event) {
  std::string text;
  AppendField(previous_hash, text);
  AppendField(absl::StrCat(event.sequence), text);
  AppendField(absl::StrCat(absl::ToUnixMicros(event.time)), text);
  for (const std::string* field :
       {&event.actor, &event.peer, &event.action, &event.subject, &event.detail}) {
    AppendField(*field, text);
  }
  return Sha256Hex(text);
}

}  // namespace muster::controller
