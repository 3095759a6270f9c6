#include "controller/validation/verdict/expectation.h"

#include <string>
#include <utility>

namespace muster::controller::validation {

Expectation MakeExpectation(HardwareClass hardware, const HardwareLibrary& library) {
  Expectation expectation;
  if (hardware.gpu_model.has_value()) {
    expectation.gpu = library.Find("gpu", *hardware.gpu_model);
  }
  if (const std::string port = hardware.Port(); !port.empty()) {
    expectation.nic = library.Find("nic", port);
  }
  expectation.hardware = std::move(hardware);
  expectation.library = &library;
  return expectation;
}

const HardwareModel* ModelOf(const Expectation& expectation, const v1::Subject& subject) {
  if (subject.kind() == "nic") return expectation.nic;
  if (subject.kind() != "gpu") return nullptr;
  if (expectation.hardware.gpu_model.has_value() || expectation.library == nullptr) {
    return expectation.gpu;
  }
  return expectation.library->Find("gpu", subject.model());
}

std::optional<SourcedValue> TemperatureLimitOf(const Expectation& expectation,
                                               const HardwareModel* gpu) {
  const HardwareClass& node = expectation.hardware;
  std::optional<SourcedValue> limit;
  if (gpu != nullptr) limit = gpu->max_temperature_celsius;
  const std::optional<double>& here = node.gpu_temperature_limit_celsius;
  if (here.has_value() && (!limit.has_value() || *here <= limit->value)) {
    limit = SourcedValue{*here, node.gpu_temperature_source};
  }
  return limit;
}

Expectation OfPair(const Expectation& own, const Expectation& partner) {
  Expectation of_pair = own;
  const std::optional<double>& ours = own.hardware.network_gbits_per_s;
  const std::optional<double>& theirs = partner.hardware.network_gbits_per_s;
  if (own.hardware.Port() == partner.hardware.Port()) return of_pair;
  const bool comparable = ours.has_value() && theirs.has_value() &&
                          !own.hardware.infiniband_rate.has_value() &&
                          !partner.hardware.infiniband_rate.has_value();
  if (!comparable) {
    of_pair.nic = nullptr;
  } else if (*theirs < *ours) {
    of_pair.nic = partner.nic;
  }
  return of_pair;
}

}  // namespace muster::controller::validation
