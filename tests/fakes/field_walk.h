// Walks over every field that a message can hold, by its descriptor.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster::testing {

// A field of a message, or of one of its parts.
struct FieldPath {
  std::vector<const google::protobuf::FieldDescriptor*> steps;

  const google::protobuf::FieldDescriptor& field() const { return *steps.back(); }
  std::string name() const {
    return absl::StrJoin(
        steps, ".", [](std::string* out, const auto* step) { absl::StrAppend(out, step->name()); });
  }

  // The part of `message` that has the field: existing parts if there are any, the first element of
  // lists, else new ones.
  google::protobuf::Message* Owner(google::protobuf::Message& message) const {
    google::protobuf::Message* owner = &message;
    for (size_t i = 0; i + 1 < steps.size(); ++i) {
      const google::protobuf::Reflection& reflection = *owner->GetReflection();
      if (!steps[i]->is_repeated()) {
        owner = reflection.MutableMessage(owner, steps[i]);
      } else if (reflection.FieldSize(*owner, steps[i]) > 0) {
        owner = reflection.MutableRepeatedMessage(owner, steps[i], 0);
      } else {
        owner = reflection.AddMessage(owner, steps[i]);
      }
    }
    return owner;
  }
  void SetText(google::protobuf::Message& message, const std::string& text) const {
    google::protobuf::Message* owner = Owner(message);
    if (field().is_repeated()) {
      owner->GetReflection()->ClearField(owner, &field());
      owner->GetReflection()->AddString(owner, &field(), text);
    } else {
      owner->GetReflection()->SetString(owner, &field(), text);
    }
  }
};

// All fields of the message and its parts, including the parts themselves. REQUIRES: no message is
// a part of itself.
inline void WalkFields(const google::protobuf::Descriptor& message,
                       const std::function<void(const FieldPath&)>& visit,
                       const FieldPath& above = {}) {
  for (int i = 0; i < message.field_count(); ++i) {
    FieldPath path = above;
    path.steps.push_back(message.field(i));
    visit(path);
    if (message.field(i)->message_type() != nullptr)
      WalkFields(*message.field(i)->message_type(), visit, path);
  }
}

inline std::vector<FieldPath> TextFields(const google::protobuf::Descriptor& message) {
  std::vector<FieldPath> texts;
  WalkFields(message, [&](const FieldPath& path) {
    if (path.field().cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_STRING)
      texts.push_back(path);
  });
  return texts;
}

}  // namespace muster::testing
