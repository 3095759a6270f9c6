// Urls come from playbooks, headers from servers, the record of a part from a disk.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "agent/transfer/partial.h"
#include "common/sys/http/http_text.h"
#include "tests/fuzz/fuzz_target.h"

FUZZ_TARGET(http_url, data, size) {
  namespace sys = muster::sys;
  const std::string text(reinterpret_cast<const char*>(data), size);
  // The displayed url has neither user nor query.
  const std::string shown = sys::DescribeUrl(text);
  if (shown.find('?') != std::string::npos || shown.find('#') != std::string::npos) std::abort();
  const size_t authority = shown.find("://");
  if (authority != std::string::npos) {
    const std::string host =
        shown.substr(authority + 3, shown.find('/', authority + 3) - authority - 3);
    if (host.find('@') != std::string::npos) std::abort();
  }
  if (sys::CheckHttpUrl(text).ok() && (text.find('\n') != std::string::npos || shown[0] == '(' ||
                                       text.find(' ') != std::string::npos))
    std::abort();
  const auto range = sys::ParseContentRange(text);
  if (range.has_value() &&
      (range->last < range->first || (range->total.has_value() && *range->total <= range->last)))
    std::abort();
  const size_t half = size / 2;
  const std::string validator = sys::ContentValidator(text.substr(0, half), text.substr(half));
  if (validator.find_first_of("\r\n") != std::string::npos) std::abort();
  const auto partial = muster::agent::ParsePartial(text);
  if (partial.has_value() && muster::agent::FormatPartial(*partial) != text &&
      !partial->total.has_value())
    std::abort();
  return 0;
}
