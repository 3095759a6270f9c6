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

// What uses an order up that counts once: the script of a disk, or the root of an image, was sent
// to its last byte.
enum class UsedUpBy { kNever, kScript, kRoot };
UsedUpBy WhatUsesUp(const Decision& decision);

}  // namespace muster::controller::boot
