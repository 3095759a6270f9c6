// Any protobuf message as a JSON value, by reflection.
//
// Names are those of the .proto file. A message that is not set and an `optional` that is not set
// are null; members of a oneof that are not set are left out. Enums are lower-case words without
// the prefix of their type ("running"), bytes are base64, Timestamp is an RFC 3339 string in UTC,
// Duration a number of seconds; a repeated field is an array, a map an object, both also when
// empty.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace google::protobuf {
class FieldDescriptor;
class Message;
}  // namespace google::protobuf

namespace muster {

nlohmann::ordered_json ProtoToValue(const google::protobuf::Message& message);

// One field of it; its default if it is not set.
nlohmann::ordered_json FieldValue(const google::protobuf::Message& message,
                                  const google::protobuf::FieldDescriptor& field);

}  // namespace muster
