// What a line of the kernel's log says about the node's health.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/health/xid.h"

namespace muster::health {

// The part of the node that a line names.
enum class MessageObject {
  kNone,
  kDevice,   // the word after "dev " or "device "
  kParens,   // the word in the first parentheses after the words: "(sda1)"
  kAddress,  // the last PCI address before the words: "0000:3b:00.0"
};

// A line whose message begins with `words`, or has them behind the names of its driver and device,
// and contains `then` after them. Both are words of the kernel's own messages.
struct KernelMessage {
  absl::string_view words;
  absl::string_view then;
  Cause cause;
  absl::string_view condition;  // that the line turns bad; "": none
  MessageObject object = MessageObject::kNone;
};
absl::Span<const KernelMessage> KernelMessages();

// The driver's words about a card that does not answer when it is to be taken.
inline constexpr absl::string_view kCardWithoutAnswer = "fallen off the bus and is not responding";

// A line about an Xid: "NVRM: Xid (PCI:0000:3b:00): 79, pid=…", or of an instance of a GPU in MIG
// mode: "NVRM: Xid (PCI:0000:3b:00 GPU-I:05): 109, …". The message begins with these
// words.
struct XidMessage {
  std::string slot;  // begins the GPU's address: "0000:3b:00"
  int xid = 0;
};
std::optional<XidMessage> ParseXidMessage(absl::string_view line);

// What a line that is not about an Xid says; nullopt: nothing about health.
struct MessageMeaning {
  Cause cause = Cause::kSoftware;
  absl::string_view condition;
  std::string object = {};  // at most 64 bytes, of letters, digits and "._:-"; "": the whole node
};
std::optional<MessageMeaning> ReadKernelMessage(absl::string_view line);

}  // namespace muster::health
