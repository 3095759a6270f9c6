#include "controller/flags.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/base/text/nearest_word.h"

namespace muster::controller {

absl::StatusOr<Flags> ParseFlags(absl::Span<char* const> arguments) {
  Flags flags;
  for (size_t i = 0; i < arguments.size(); ++i) {
    absl::string_view argument = arguments[i];
    if (argument == "--help" || argument == "-h") {
      flags.show_help = true;
    } else if (argument == "--version") {
      flags.show_version = true;
    } else if (argument == "--state-directory") {
      flags.show_state_directory = true;
    } else if (argument == "--config" && i + 1 < arguments.size()) {
      flags.config = arguments[++i];
    } else if (absl::ConsumePrefix(&argument, "--config=")) {
      flags.config = std::string(argument);
    } else {
      return absl::InvalidArgumentError(absl::StrCat(
          "unknown or incomplete argument '", argument, "'",
          DidYouMean(argument, {"--config", "--version", "--state-directory", "--help"})));
    }
  }
  return flags;
}

}  // namespace muster::controller
