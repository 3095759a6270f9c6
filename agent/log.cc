#include "agent/log.h"

#include <cstdlib>
#include <memory>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/sinks/systemd_sink.h>
#include <spdlog/spdlog.h>

namespace muster::agent {
namespace {

void Log(spdlog::level::level_enum level, absl::string_view text) {
  spdlog::log(level, "{}", fmt::string_view(text.data(), text.size()));
}

}  // namespace

void StartLog(bool verbose) {
  // systemd sets it for services whose output goes to the journal.
  const bool under_systemd = std::getenv("JOURNAL_STREAM") != nullptr;
  std::shared_ptr<spdlog::logger> logger;
  if (under_systemd) {
    logger = std::make_shared<spdlog::logger>(
        "muster-agent", std::make_shared<spdlog::sinks::systemd_sink_mt>("muster-agent"));
    logger->set_pattern("%v");
  } else {
    logger = std::make_shared<spdlog::logger>(
        "muster-agent", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    logger->set_pattern("%Y-%m-%d %H:%M:%S.%e %l %v");
  }
  logger->set_level(verbose ? spdlog::level::debug : spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

void LogDebug(absl::string_view text) { Log(spdlog::level::debug, text); }
void LogInfo(absl::string_view text) { Log(spdlog::level::info, text); }
void LogError(absl::string_view text) { Log(spdlog::level::err, text); }

}  // namespace muster::agent
