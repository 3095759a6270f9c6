#include "controller/log.h"

#include <cstdlib>
#include <memory>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/sinks/systemd_sink.h>
#include <spdlog/spdlog.h>

#include "common/base/text/plain_text.h"

namespace muster::controller {
namespace {

std::shared_ptr<spdlog::logger>& Logger() {
  static std::shared_ptr<spdlog::logger> logger;
  return logger;
}

void Log(spdlog::level::level_enum level, absl::string_view line) {
  if (Logger() == nullptr) return;
  // Always a single line, whatever a node or a stranger put into it.
  const std::string plain = PlainText(line, Lines::kOne);
  Logger()->log(level, spdlog::string_view_t(plain.data(), plain.size()));
}

}  // namespace

void StartLog() {
  // systemd sets it for a service whose standard error goes to the journal.
  if (std::getenv("JOURNAL_STREAM") != nullptr) {
    Logger() = std::make_shared<spdlog::logger>(
        "musterd", std::make_shared<spdlog::sinks::systemd_sink_mt>("musterd"));
  } else {
    Logger() = std::make_shared<spdlog::logger>(
        "musterd", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  }
}

void LogInfo(absl::string_view line) { Log(spdlog::level::info, line); }
void LogWarning(absl::string_view line) { Log(spdlog::level::warn, line); }
void LogError(absl::string_view line) { Log(spdlog::level::err, line); }

}  // namespace muster::controller
