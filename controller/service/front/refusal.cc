#include "controller/service/front/refusal.h"

#include <string>

#include "common/base/text/joined_errors.h"
#include "common/base/text/utf8.h"

namespace muster::controller {

bool NeedsRefusal(const absl::Status& status) {
  return !status.ok() && (HasErrors(status) || !FitsStatus(status.message()));
}

v1::Refusal ToRefusal(const absl::Status& status) {
  v1::Refusal refusal;
  refusal.set_code(static_cast<uint32_t>(status.code()));
  ErrorTexts errors = ErrorsOf(status);
  for (const std::string& text : errors.texts) refusal.add_errors(ValidUtf8(text, text.size()));
  refusal.set_more(errors.more);
  return refusal;
}

}  // namespace muster::controller
