// Turns parameters of each type into fields of plan.proto: the parts of set_field.cc's table.
// Errors name the parameter and what it accepts; they never show a secret.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "controller/playbook/schema/schema.h"

namespace google::protobuf {
class FieldDescriptor;
class Message;
}  // namespace google::protobuf

namespace muster::controller::playbook {

const google::protobuf::FieldDescriptor& Field(const Param& param,
                                               const google::protobuf::Message& resource);
// "'KEY' must be EXPECTED".
absl::Status Wrong(const Param& param, absl::string_view expected);
// A value in a form that messages may show.
std::string Shown(const Value& value);

// set_text.cc. `sensitive` becomes true where the value holds a secret.
absl::Status SetText(const Param& param, const Value& value, google::protobuf::Message* resource,
                     bool* sensitive);
absl::Status SetContent(const Param& param, const Value& value, google::protobuf::Message* resource,
                        bool* sensitive);
absl::Status SetWord(const Param& param, const Value& value, google::protobuf::Message* resource,
                     bool* sensitive);
absl::Status SetSha256(const Param& param, const Value& value, google::protobuf::Message* resource,
                       bool* sensitive);
absl::Status SetArgv(const Param& param, const Value& value, google::protobuf::Message* resource,
                     bool* sensitive);
absl::Status SetTextList(const Param& param, const Value& value,
                         google::protobuf::Message* resource, bool* sensitive);
absl::Status SetUrls(const Param& param, const Value& value, google::protobuf::Message* resource,
                     bool* sensitive);
absl::Status SetTextMap(const Param& param, const Value& value, google::protobuf::Message* resource,
                        bool* sensitive);

// set_number.cc.
absl::Status SetNumber(const Param& param, const Value& value, google::protobuf::Message* resource);
absl::Status SetSize(const Param& param, const Value& value, google::protobuf::Message* resource);
absl::Status SetPriority(const Param& param, const Value& value,
                         google::protobuf::Message* resource);
absl::Status SetMode(const Param& param, const Value& value, google::protobuf::Message* resource);
absl::Status SetBool(const Param& param, const Value& value, google::protobuf::Message* resource);
absl::Status SetDuration(const Param& param, const Value& value,
                         google::protobuf::Message* resource);

}  // namespace muster::controller::playbook
