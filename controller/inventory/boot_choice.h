// What machines boot: the variables `boot`, `boot_rescue_image`, `boot_disk`, `boot_peers` and
// `boot_signed` of nodes, and `boot_unknown`.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "absl/strings/string_view.h"

namespace muster::controller {

class Inventory;
struct Node;

struct BootChoice {
  enum class Kind { kDisk, kRescue, kImage };
  Kind kind = Kind::kDisk;
  std::string image;  // of kImage: "debian-worker" or "debian-worker@1a2b3c4d"

  // As it is written: "disk", "rescue", the image.
  std::string ToString() const;
};

// Reads what ToString() writes; nullopt: it is neither of the two words nor can it name an image.
std::optional<BootChoice> ParseBootChoice(absl::string_view text);

// Describes the fault of a value ("must be disk, rescue, …"); "": it has none, or the variable is
// not one of these.
std::string CheckBootVariable(absl::string_view name, const nlohmann::ordered_json& value);

// Describes the fault of a variable that is written for groups or nodes and has no meaning there;
// "": it has none.
std::string CheckVariableOfNodes(absl::string_view name);

// Whether a machine boots signed kernel images alone.
struct SignedChoice {
  bool is_signed = false;
  bool enrolls = false;  // and its firmware, if it is in setup mode, gets the cluster's keys
};

// What the inventory says about a node.
struct BootDefault {
  BootChoice choice;  // disk where nothing was written
  bool is_written = false;
  std::string rescue_image;  // the image that "rescue" means
  std::string disk;          // that images are written to, see CheckDiskName(); "": as they say
  bool has_peers = false;    // it gets its root from others that boot, and gives it to them
  SignedChoice signed_choice;
};
BootDefault BootDefaultOf(const Inventory& inventory, const Node& node);

// The image by which machines tell of themselves that the inventory does not have; "": none.
std::string BootOfUnknown(const Inventory& inventory);
SignedChoice SignedChoiceOfUnknown(const Inventory& inventory);

}  // namespace muster::controller
