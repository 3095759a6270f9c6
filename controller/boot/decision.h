// What a machine that asks is to boot. Pure.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "controller/inventory/boot_choice.h"
#include "controller/store/tables.h"

namespace muster::controller {
class Inventory;
struct Node;
}  // namespace muster::controller

namespace muster::controller::boot {

struct Decision {
  enum class Source { kNothing, kInventory, kOrder };
  BootChoice choice;  // as somebody wrote it
  std::string image;  // the image that it means; "": the disk
  Source source = Source::kNothing;
  bool once = false;
  std::string order_id;  // of kOrder
};

// An order counts before the inventory, the inventory before the disk. `order`: the node's, or
// nullptr.
Decision Decide(const Inventory& inventory, const Node& node, const BootOrderRecord* order);

// What uses an order up: one for the disk that counts once, its script, and one for an image, the
// root, when that was sent to its last byte; one for an image that is written to a disk, that the
// disk holds it, whether it counts once or not.
enum class UsedUpBy { kNever, kScript, kRoot, kWritten };
UsedUpBy WhatUsesUp(const Decision& decision, bool is_for_disk);

}  // namespace muster::controller::boot
