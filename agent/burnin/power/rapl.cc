#include "agent/burnin/power/rapl.h"

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/sys/file_system.h"

namespace muster::burnin {
namespace {

constexpr char kFolder[] = "/sys/class/powercap";
constexpr size_t kMaxFileBytes = 4096;
// Above this a counter was reset rather than wrapped around.
constexpr double kMostPackageWatts = 20'000;

std::optional<std::string> Line(sys::FileSystem& files, const std::string& path) {
  const absl::StatusOr<std::string> text = files.Read(path, kMaxFileBytes);
  if (!text.ok()) return std::nullopt;
  return std::string(absl::StripAsciiWhitespace(*text));
}

std::optional<uint64_t> Number(sys::FileSystem& files, const std::string& path) {
  const std::optional<std::string> line = Line(files, path);
  uint64_t number = 0;
  if (!line.has_value() || !absl::SimpleAtoi(*line, &number)) return std::nullopt;
  return number;
}

}  // namespace

bool IsCountedZone(absl::string_view folder, absl::string_view name) {
  return absl::StartsWith(folder, "intel-rapl:") &&
         (absl::StartsWith(name, "package-") || name == "dram");
}

std::vector<EnergyCounter> ReadEnergy(sys::FileSystem& files) {
  std::vector<EnergyCounter> counters;
  const absl::StatusOr<std::vector<std::string>> folders = files.List(kFolder);
  if (!folders.ok()) return counters;
  for (const std::string& folder : *folders) {
    const std::string path = absl::StrCat(kFolder, "/", folder);
    const std::optional<std::string> name = Line(files, path + "/name");
    if (!name.has_value() || !IsCountedZone(folder, *name)) continue;
    const std::optional<uint64_t> energy = Number(files, path + "/energy_uj");
    const std::optional<uint64_t> range = Number(files, path + "/max_energy_range_uj");
    if (energy.has_value() && range.has_value()) counters.push_back({folder, *energy, *range});
  }
  return counters;
}

std::optional<double> MeanWatts(const std::vector<EnergyCounter>& from,
                                const std::vector<EnergyCounter>& to, absl::Duration between) {
  if (from.empty() || from.size() != to.size() || between <= absl::ZeroDuration())
    return std::nullopt;
  double microjoules = 0;
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i].zone != to[i].zone) return std::nullopt;
    const bool passed_the_end = to[i].energy < from[i].energy;
    microjoules += static_cast<double>(to[i].energy) - static_cast<double>(from[i].energy) +
                   (passed_the_end ? static_cast<double>(to[i].range) : 0);
  }
  const double watts = microjoules * 1e-6 / absl::ToDoubleSeconds(between);
  if (watts < 0 || watts > kMostPackageWatts) return std::nullopt;
  return watts;
}

}  // namespace muster::burnin
