#include "common/value/folded_value.h"

#include <cassert>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/message.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/value/proto_value.h"

namespace muster {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MessageFactory;
using google::protobuf::io::CodedInputStream;

constexpr std::uint64_t kFoldedSubtype = 2;
constexpr std::uint64_t kLentSubtype = 3;

// A field's number is the tag without its lower three bits, the wire type
// (protobuf.dev, "Encoding").
int NumberOf(std::uint32_t tag) { return static_cast<int>(tag >> 3); }

bool SkipRecord(CodedInputStream& input, std::uint32_t tag) {
  std::uint64_t number = 0;
  std::uint32_t length = 0;
  switch (tag & 7) {
    case 0:
      return input.ReadVarint64(&number);
    case 1:
      return input.Skip(8);
    case 2:
      return input.ReadVarint32(&length) && length <= INT32_MAX &&
             input.Skip(static_cast<int>(length));
    case 5:
      return input.Skip(4);
    default:  // groups, which proto3 does not have
      return false;
  }
}

// The records of each field, by its number; none at all if the bytes are not a message.
std::optional<std::map<int, std::string>> RecordsByField(absl::string_view bytes) {
  CodedInputStream input(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                         static_cast<int>(bytes.size()));
  std::map<int, std::string> records;
  int begin = 0;
  while (const std::uint32_t tag = input.ReadTag()) {
    if (!SkipRecord(input, tag)) return std::nullopt;
    const int end = input.CurrentPosition();
    absl::StrAppend(&records[NumberOf(tag)], bytes.substr(begin, end - begin));
    begin = end;
  }
  if (begin != static_cast<int>(bytes.size())) return std::nullopt;
  return records;
}

// The type's name, a zero, the field's records.
Value FoldField(const FieldDescriptor& field, absl::string_view records) {
  Value::binary_t folded;
  folded.set_subtype(kFoldedSubtype);
  const std::string& type = field.containing_type()->full_name();
  folded.reserve(type.size() + 1 + records.size());
  folded.insert(folded.end(), type.begin(), type.end());
  folded.push_back(0);
  folded.insert(folded.end(), records.begin(), records.end());
  return Value(std::move(folded));
}

}  // namespace

std::optional<Value> FoldMessage(const Message& type, absl::string_view bytes) {
  auto records = RecordsByField(bytes);
  if (!records.has_value()) return std::nullopt;
  const Descriptor& descriptor = *type.GetDescriptor();
  std::string plain;
  for (const auto& [number, text] : *records) {
    const FieldDescriptor* field = descriptor.FindFieldByNumber(number);
    if (field != nullptr && !field->is_repeated() && field->message_type() == nullptr) {
      plain += text;
    }
  }
  const std::unique_ptr<Message> message(type.New());
  if (!message->ParseFromString(plain)) return std::nullopt;
  Value value = ProtoToValue(*message);
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    if (!field.is_repeated() && field.message_type() == nullptr) continue;
    const auto found = records->find(field.number());
    if (found != records->end()) value[field.name()] = FoldField(field, found->second);
  }
  return value;
}

Value Lend(const Value& value) {
  const Value* const place = &value;
  Value::binary_t lent;
  lent.set_subtype(kLentSubtype);
  lent.resize(sizeof(place));
  std::memcpy(lent.data(), &place, sizeof(place));
  return Value(std::move(lent));
}

bool IsFolded(const Value& value) {
  if (!value.is_binary()) return false;
  const Value::binary_t& binary = value.get_binary();
  return binary.has_subtype() &&
         (binary.subtype() == kFoldedSubtype || binary.subtype() == kLentSubtype);
}

size_t FoldedBytes(const Value& value) { return value.get_binary().size(); }

const Value* LentValue(const Value& value) {
  assert(IsFolded(value));
  const Value::binary_t& binary = value.get_binary();
  if (binary.subtype() != kLentSubtype) return nullptr;
  const Value* place = nullptr;
  std::memcpy(&place, binary.data(), sizeof(place));
  return place;
}

Value Unfold(const Value& value) {
  if (const Value* const lent = LentValue(value)) return *lent;
  const Value::binary_t& binary = value.get_binary();
  const absl::string_view folded(reinterpret_cast<const char*>(binary.data()), binary.size());
  const size_t zero = folded.find('\0');
  const Descriptor& type =
      *DescriptorPool::generated_pool()->FindMessageTypeByName(std::string(folded.substr(0, zero)));
  const absl::string_view records = folded.substr(zero + 1);
  const std::unique_ptr<Message> message(
      MessageFactory::generated_factory()->GetPrototype(&type)->New());
  if (!message->ParseFromArray(records.data(), static_cast<int>(records.size()))) return nullptr;
  CodedInputStream input(reinterpret_cast<const std::uint8_t*>(records.data()),
                         static_cast<int>(records.size()));
  return FieldValue(*message, *type.FindFieldByNumber(NumberOf(input.ReadTag())));
}

Value UnfoldAll(Value value) {
  if (IsFolded(value)) {
    return LentValue(value) == nullptr ? Unfold(value) : UnfoldAll(Unfold(value));
  }
  if (value.is_structured()) {
    for (Value& element : value) element = UnfoldAll(std::move(element));
  }
  return value;
}

}  // namespace muster
