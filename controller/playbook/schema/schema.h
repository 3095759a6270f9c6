// The resources and parameters of tasks: one table row each, named after the fields of
// proto/muster/v1/plan.proto.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/value/secret_value.h"

namespace google::protobuf {
class Message;
}

namespace muster::controller::playbook {

enum class ParamType {
  kText,
  kPath,      // text that begins with "/", or empty where it is not required
  kFileName,  // text: one name in a folder
  kRegex,     // RE2
  kUnitName,  // text with a suffix: "munge.service"
  kWord,      // one of the enum's values, in lower case
  kBool,
  kNumber,     // 0 … 2^32-1
  kMode,       // "0644"
  kSize,       // bytes: "500MiB", "8GiB", or a whole number
  kSha256,     // 64 hexadecimal digits
  kUrls,       // as kTextList, each of http or https; the node checks the form again
  kDuration,   // "5m"
  kTextList,   // a single text counts as a list of one
  kWholeList,  // as kTextList; an empty one, unlike none, sets the field "no_…" to true
  kArgv,       // a list with at least a program; never a single text
  kValidate,   // as kArgv, with "%s" in it
  kTextMap,
  kContent,       // text or secret
  kTemplateFile,  // name of a file in the role's templates/, rendered into the field
  kRoleFile,      // name of a file in the role's files/, copied into the field
  kFalse,         // nothing but false; sets the field to true ("changes: false")
  kPriority,      // -32767 … 32767 without 0, as in apt
  kMapList,       // maps with the keys of Param::elements; a single map counts as a list of one
};

class Given;
// Describes what is wrong with the parameters together; "" when nothing is. nullptr: no such rule.
using ParamsCheck = std::string (*)(const Given& given);

struct Param {
  const char* key;
  ParamType type;
  const char* field;  // of the resource's message
  bool required = false;
  bool takes_secret = false;
  // For kMapList: the parameters of each of its maps, and a check of each map as a whole.
  std::vector<Param> elements = {};
  ParamsCheck check_element = nullptr;
  bool elements_differ = false;  // no two have the same value of the first of `elements`
};

// nullptr when there is no such key.
const Param* FindParam(const std::vector<Param>& params, absl::string_view key);
std::vector<std::string> KeysOf(const std::vector<Param>& params);

// The parameters that a task was given, for rules about several of them.
class Given {
 public:
  virtual ~Given() = default;
  virtual bool Has(absl::string_view key) const = 0;
  // Whether a given parameter is the same on every node.
  virtual bool IsConstant(absl::string_view key) const = 0;
  // The text of a parameter that is the same on every node; "" when it is absent; nullopt when it
  // depends on the node.
  virtual std::optional<std::string> Text(absl::string_view key) const = 0;
  virtual bool in_handler() const = 0;

  // False when the state is absent or known only per node.
  bool CertainlyPresent() const;
};

struct ResourceType {
  const char* key;  // in the playbook, and the field of Step
  std::vector<Param> params;
  ParamsCheck check;
};

const std::vector<ResourceType>& ResourceTypes();
const ResourceType* FindResourceType(absl::string_view key);

// Sets the parameter's field. An error's message describes the fault of the value, without its
// place and without secrets. A secret sets *sensitive, which is left alone otherwise. Null leaves
// the field alone. REQUIRES: not kTemplateFile or kRoleFile.
absl::Status SetField(const Param& param, const Value& value, google::protobuf::Message* resource,
                      bool* sensitive);

// Sets the text or bytes field itself.
void SetBytes(const Param& param, absl::string_view bytes, google::protobuf::Message* resource);

// Appends a message to the field of a kMapList.
google::protobuf::Message* AddElement(const Param& param, google::protobuf::Message* resource);
// The existing element at `index`.
google::protobuf::Message* MutableElement(const Param& param, size_t index,
                                          google::protobuf::Message* resource);

// InvalidArgument names the second of two elements that must differ.
absl::Status CheckElementsDiffer(const Param& param, const google::protobuf::Message& resource);

// The message of `step`'s resource, made if needed. REQUIRES: `step` is a muster.v1.Step.
google::protobuf::Message* MutableResource(const ResourceType& type,
                                           google::protobuf::Message* step);

}  // namespace muster::controller::playbook
