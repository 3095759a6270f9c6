#include "cli/render/report/console_report.h"

#include "absl/strings/str_cat.h"
#include "cli/render/plain_text.h"
#include "common/base/proto_time.h"
#include "muster/v1/power.pb.h"

namespace muster::cli {

std::string RenderConsole(const v1::ReadConsoleResponse& response, absl::TimeZone zone) {
  std::string text;
  for (const v1::ConsoleRow& row : response.rows())
    absl::StrAppend(&text, absl::FormatTime("%H:%M:%S", ToTime(row.time()), zone), "  ",
                    Tame(row.text()), "\n");
  return text;
}

std::string StateOfConsole(const std::string& node, const v1::ReadConsoleResponse& response) {
  if (response.is_established()) return absl::StrCat("the console of ", node, " is being read");
  if (response.is_read()) return absl::StrCat("the console of ", node, ": its BMC is asked for it");
  if (!response.trouble().empty())
    return absl::StrCat("the console of ", node, ": ", Tame(response.trouble()));
  return absl::StrCat("the console of ", node,
                      " is read while the machine boots, and with --follow");
}

}  // namespace muster::cli
