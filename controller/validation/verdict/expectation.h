// What a node is judged against: its hardware by the inventory, and the files of its models. Pure.
#pragma once

#include <optional>

#include "controller/validation/verdict/hardware_class.h"
#include "muster/v1/validation.pb.h"

namespace muster::controller::validation {

// The expectations that a node is judged against. Default: nothing is known.
struct Expectation {
  HardwareClass hardware;
  // The file of the inventory's gpu_model; must outlive the object. nullptr: it names none, or no
  // file knows it.
  const HardwareModel* gpu = nullptr;
  const HardwareModel* nic = nullptr;
  const HardwareLibrary* library = nullptr;  // for GPUs where the inventory has no gpu_model
};
// `library` must outlive what is returned.
Expectation MakeExpectation(HardwareClass hardware, const HardwareLibrary& library);
// The file of a part. A GPU's is that of the inventory's gpu_model, otherwise that of the name
// which its driver reports. nullptr: no file knows it.
const HardwareModel* ModelOf(const Expectation& expectation, const v1::Subject& subject);
// The expectation of a node in a pair: the slower of two Ethernet ports limits both. Ports that
// cannot be compared or are not known have no floor.
Expectation OfPair(const Expectation& own, const Expectation& partner);

// The limit that no GPU of the node with this file may exceed: the lower of the inventory's and the
// file's. nullptr: it has no file.
std::optional<SourcedValue> TemperatureLimitOf(const Expectation& expectation,
                                               const HardwareModel* gpu);

}  // namespace muster::controller::validation
