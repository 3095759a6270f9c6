#include "agent/burnin/power/power_meter.h"

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/sys/file_system.h"
#include "common/sys/process/process.h"
#include "common/sys/process/process_control.h"

namespace muster::burnin {
namespace {

constexpr char kHwmonFolder[] = "/sys/class/hwmon";
constexpr char kIpmiDevice[] = "/dev/ipmi0";
constexpr size_t kMaxAnswerBytes = 4096;
// A BMC answers within tenths of a second; a busy one takes longer.
constexpr absl::Duration kAnswerTimeout = absl::Seconds(5);
constexpr int kMostFailures = 3;
// No node draws that much: it would be a mistake in units.
constexpr double kMostMeterWatts = 100'000;

std::optional<double> Plausible(double watts) {
  if (!(watts > 0 && watts <= kMostMeterWatts)) return std::nullopt;
  return watts;
}

std::string FindAcpiFile(sys::FileSystem& files) {
  const absl::StatusOr<std::vector<std::string>> devices = files.List(kHwmonFolder);
  if (!devices.ok()) return "";
  for (const std::string& device : *devices) {
    const std::string path = absl::StrCat(kHwmonFolder, "/", device);
    const absl::StatusOr<std::string> name = files.Read(path + "/name", kMaxAnswerBytes);
    // Other devices, such as cards and processors, have a power1_average as well.
    if (!name.ok() || absl::StripAsciiWhitespace(*name) != "power_meter") continue;
    if (std::string file = path + "/power1_average"; files.Read(file, kMaxAnswerBytes).ok())
      return file;
  }
  return "";
}

}  // namespace

std::optional<double> ParseDcmiPower(absl::string_view output) {
  std::optional<double> watts;
  for (const absl::string_view line : absl::StrSplit(output, '\n')) {
    const size_t colon = line.find(':');
    if (colon == absl::string_view::npos) continue;
    const absl::string_view key = absl::StripAsciiWhitespace(line.substr(0, colon));
    const absl::string_view value = absl::StripAsciiWhitespace(line.substr(colon + 1));
    if (key == "Instantaneous power reading") {
      const std::vector<absl::string_view> words = absl::StrSplit(value, ' ', absl::SkipEmpty());
      double number = 0;
      if (words.size() == 2 && words[1] == "Watts" && absl::SimpleAtod(words[0], &number))
        watts = Plausible(number);
    } else if (key == "Power reading state is" && value != "activated") {
      return std::nullopt;
    }
  }
  return watts;
}

std::optional<double> ParseMicrowatts(absl::string_view text) {
  double microwatts = 0;
  if (!absl::SimpleAtod(absl::StripAsciiWhitespace(text), &microwatts)) return std::nullopt;
  return Plausible(microwatts * 1e-6);
}

PowerMeter::PowerMeter(sys::FileSystem& files, sys::ProcessRunner& processes)
    : files_(files), processes_(processes), acpi_file_(FindAcpiFile(files)) {
  if (!acpi_file_.empty()) return;
  const auto device = files.Stat(kIpmiDevice);
  asks_bmc_ = device.ok() && device->has_value();
}

std::optional<double> PowerMeter::Watts(sys::ProcessControl& control) {
  if (!acpi_file_.empty()) {
    const absl::StatusOr<std::string> text = files_.Read(acpi_file_, kMaxAnswerBytes);
    return text.ok() ? ParseMicrowatts(*text) : std::nullopt;
  }
  if (!asks_bmc_) return std::nullopt;
  control.CloseInput();
  const absl::StatusOr<sys::ProcessResult> run =
      processes_.Run({.argv = {"ipmitool", "dcmi", "power", "reading"},
                      .control = &control,
                      .timeout = kAnswerTimeout,
                      .die_with_parent = true});
  const std::optional<double> watts =
      run.ok() && run->ok() ? ParseDcmiPower(run->out) : std::nullopt;
  failures_ = watts.has_value() ? 0 : failures_ + 1;
  asks_bmc_ = run.ok() && failures_ < kMostFailures;
  return watts;
}

}  // namespace muster::burnin
