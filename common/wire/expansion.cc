#include "common/wire/expansion.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/message.h>
#include <google/protobuf/wire_format_lite.h>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace muster::wire {

absl::Status NoMessage() {
  return absl::InvalidArgumentError("the data is not a message of this protocol");
}

namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MessageFactory;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// The overhead of an allocation, including the pointer to it.
constexpr size_t kAllocation = 24;
constexpr size_t kNumber = 16;
constexpr size_t kText = sizeof(std::string) + kAllocation;
// An entry of a map is a node of a hash table, with key and value.
constexpr size_t kMapEntry = 2 * kText + kAllocation;

size_t TextBytes(size_t length) {
  const bool is_inline = length < std::string().capacity() + 1;
  return kText + (is_inline ? 0 : length + kAllocation);
}

absl::Status Spend(size_t bytes, size_t& left) {
  if (bytes > left) {
    return absl::ResourceExhaustedError("a message that would take too much memory when parsed");
  }
  left -= bytes;
  return absl::OkStatus();
}

}  // namespace

ExpansionMeter::ExpansionMeter(const Descriptor& root) : root_(root) { Measure(root); }

void ExpansionMeter::Measure(const Descriptor& message) {
  const auto [found, is_new] = sizes_.try_emplace(&message, kMapEntry);
  if (!is_new) return;
  if (!message.options().map_entry()) {
    const Message* empty = MessageFactory::generated_factory()->GetPrototype(&message);
    if (empty != nullptr) found->second = empty->SpaceUsedLong() + kAllocation;
  }
  for (int i = 0; i < message.field_count(); ++i) {
    if (const Descriptor* part = message.field(i)->message_type()) Measure(*part);
  }
}

absl::Status ExpansionMeter::Check(google::protobuf::io::ZeroCopyInputStream& bytes,
                                   size_t limit) const {
  CodedInputStream in(&bytes);
  size_t left = limit;
  return Walk(in, root_, left);
}

// Descends as deep as our messages are nested: unknown fields are skipped.
absl::Status ExpansionMeter::Walk(CodedInputStream& in, const Descriptor& message,
                                  size_t& left) const {
  while (const uint32_t tag = in.ReadTag()) {
    uint64_t number = 0;
    uint32_t fixed = 0;
    int length = 0;
    switch (WireFormatLite::GetTagWireType(tag)) {
      case WireFormatLite::WIRETYPE_VARINT:
        if (!in.ReadVarint64(&number)) return NoMessage();
        RETURN_IF_ERROR(Spend(kNumber, left));
        continue;
      case WireFormatLite::WIRETYPE_FIXED64:
        if (!in.ReadLittleEndian64(&number)) return NoMessage();
        RETURN_IF_ERROR(Spend(kNumber, left));
        continue;
      case WireFormatLite::WIRETYPE_FIXED32:
        if (!in.ReadLittleEndian32(&fixed)) return NoMessage();
        RETURN_IF_ERROR(Spend(kNumber, left));
        continue;
      case WireFormatLite::WIRETYPE_LENGTH_DELIMITED:
        if (!in.ReadVarintSizeAsInt(&length)) return NoMessage();
        break;
      default:  // groups, which proto3 does not have
        return NoMessage();
    }
    const FieldDescriptor* field =
        message.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
    if (field != nullptr && field->message_type() != nullptr) {
      RETURN_IF_ERROR(Spend(sizes_.at(field->message_type()), left));
      const CodedInputStream::Limit outer = in.PushLimit(length);
      RETURN_IF_ERROR(Walk(in, *field->message_type(), left));
      if (in.BytesUntilLimit() != 0) return NoMessage();
      in.PopLimit(outer);
      continue;
    }
    const bool is_packed = field != nullptr && field->is_packable();
    const size_t bytes = static_cast<size_t>(length);
    RETURN_IF_ERROR(Spend(is_packed ? sizeof(number) * bytes : TextBytes(bytes), left));
    if (!in.Skip(length)) return NoMessage();
  }
  return in.ConsumedEntireMessage() ? absl::OkStatus() : NoMessage();
}

}  // namespace muster::wire
