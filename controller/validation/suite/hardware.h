// Expectations of a GPU or a network port of some model, and their sources: the files of
// inventory/hardware. docs/validation.md describes their format.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "controller/inventory/inventory.h"
#include "controller/validation/suite/catalog_names.h"

namespace muster::controller::validation {

// A value with a stated source.
struct SourcedValue {
  double value = 0;
  std::string source;  // "inventory/hardware/t4.yaml:7, NVIDIA T4 data sheet"
};

// The limits of one metric of one check.
struct HardwareLimit {
  std::string check;
  std::string metric;
  std::string variant;  // empty: every measured variant
  std::string unit;     // of the catalogue
  std::optional<double> floor;
  std::optional<double> ceiling;
  // The physical maximum of the hardware. Only used to find wrong units in floors.
  std::optional<double> peak;
  // True: judged only where it was measured. False: a missing metric is a fail.
  bool optional = false;
  std::string source;  // as in SourcedValue; for a limit that is only expected, the place alone
};

// The result that a computation has on all GPUs of this model.
struct GoldenDigest {
  std::string name;
  std::string value;  // lower-case hex
  std::string source;
};

// How far a value may be from its peers' or from its own earlier ones.
struct RelativeLimit {
  double deviations = 5;  // scaled MADs
  double percent = 5;     // of the median; at least this much is allowed
};

struct HardwareModel {
  std::string name;  // from its file: "rtx_2080_ti"
  std::string kind;  // as in Subject: "gpu", "nic"
  // The driver's names for it, or PortName() of a network port. A `*` at the end stands for
  // anything.
  std::vector<std::string> match;
  std::optional<SourcedValue> power_watts;              // of one GPU
  std::optional<SourcedValue> node_watts_per_gpu;       // of a whole node of them under full load
  std::optional<SourcedValue> max_temperature_celsius;  // of the GPU itself, under any load
  std::vector<HardwareLimit> limits;
  std::vector<GoldenDigest> digests;
  RelativeLimit fleet;
  RelativeLimit history{5, 10};
  Place place;
};

// "ethernet 10 Gbit/s".
std::string PortName(absl::string_view kind, double gbits_per_s);

// All files of a site. Immutable.
class HardwareLibrary {
 public:
  HardwareLibrary() = default;
  explicit HardwareLibrary(std::vector<HardwareModel> models) : models_(std::move(models)) {}

  const std::vector<HardwareModel>& models() const { return models_; }
  // nullptr: no file matches. If several match, the one that spells out most of the name; ignores
  // case.
  const HardwareModel* Find(absl::string_view kind, absl::string_view model) const;

 private:
  std::vector<HardwareModel> models_;
};

// Reads the files (path → text) of inventory/hardware and looks for obvious mistakes: a unit that
// differs from the catalogue's, a floor above what the hardware can do or a hundredth of it, a
// floor without its source. InvalidArgument holds all errors (the first 20) with file:line:column,
// the line itself and the nearest known word. Pure.
absl::StatusOr<HardwareLibrary> ParseHardware(const std::map<std::string, std::string>& files,
                                              Catalog catalog);

}  // namespace muster::controller::validation
