// What is expected of a GPU or a network port of some model, and where that comes from: the files
// of inventory/hardware. docs/validation.md has their format.
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

// A value that somebody stated.
struct SourcedValue {
  double value = 0;
  std::string source;  // "inventory/hardware/t4.yaml:7, NVIDIA T4 data sheet"
};

// What one metric of one check has to be.
struct HardwareLimit {
  std::string check;
  std::string metric;
  std::string variant;  // empty: each that is measured
  std::string unit;     // of the catalogue
  std::optional<double> floor;
  std::optional<double> ceiling;
  // What the hardware can do at all. Only to find slips of units in floors.
  std::optional<double> peak;
  // Judged where it was measured; otherwise a missing metric is a fail.
  bool optional = false;
  std::string source;  // as in SourcedValue; of a limit that is only expected: the place alone
};

// The value that a computation has on all GPUs of this model.
struct GoldenDigest {
  std::string name;
  std::string value;  // lower-case hex
  std::string source;
};

// How far a value may be from its peers' or its own earlier ones.
struct RelativeLimit {
  double deviations = 5;  // scaled MADs
  double percent = 5;     // of the median, at least
};

struct HardwareModel {
  std::string name;  // of its file: "rtx_2080_ti"
  std::string kind;  // of a Subject: "gpu", "nic"
  // What the driver calls it, or PortName() of a network port. A `*` at the end stands for
  // anything.
  std::vector<std::string> match;
  std::optional<SourcedValue> power_watts;              // of one GPU
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
  // nullptr: no file matches. Of several the one that says most of the name; case does not count.
  const HardwareModel* Find(absl::string_view kind, absl::string_view model) const;

 private:
  std::vector<HardwareModel> models_;
};

// Reads the files (path → text) of inventory/hardware and looks for what cannot be meant: a unit
// that is not the catalogue's, a floor above what the hardware can do or a hundredth of it, a floor
// without its source. InvalidArgument holds all errors (the first 20) with file:line:column, the
// line shown and the nearest known word. Pure.
absl::StatusOr<HardwareLibrary> ParseHardware(const std::map<std::string, std::string>& files,
                                              Catalog catalog);

}  // namespace muster::controller::validation
