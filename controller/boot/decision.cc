#include "controller/boot/decision.h"

#include "controller/inventory/inventory.h"

namespace muster::controller::boot {

Decision Decide(const Inventory& inventory, const Node& node, const BootOrderRecord* order) {
  const BootDefault written = BootDefaultOf(inventory, node);
  Decision decision;
  const std::optional<BootChoice> ordered =
      order == nullptr ? std::nullopt : ParseBootChoice(order->choice);
  if (ordered.has_value()) {
    decision.choice = *ordered;
    decision.source = Decision::Source::kOrder;
    decision.once = order->once;
    decision.order_id = order->order_id;
  } else {
    decision.choice = written.choice;
    if (written.is_written) decision.source = Decision::Source::kInventory;
  }
  if (decision.choice.kind == BootChoice::Kind::kRescue) decision.image = written.rescue_image;
  if (decision.choice.kind == BootChoice::Kind::kImage) decision.image = decision.choice.image;
  return decision;
}

UsedUpBy WhatUsesUp(const Decision& decision, bool is_for_disk) {
  if (is_for_disk && decision.source == Decision::Source::kOrder) return UsedUpBy::kWritten;
  if (!decision.once || decision.source != Decision::Source::kOrder) return UsedUpBy::kNever;
  return decision.image.empty() ? UsedUpBy::kScript : UsedUpBy::kRoot;
}

}  // namespace muster::controller::boot
