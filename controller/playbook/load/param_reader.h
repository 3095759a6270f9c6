// The parameters of a resource, or of one map of a list in it, as written in a file.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/yaml/document.h"
#include "controller/playbook/errors.h"
#include "controller/playbook/load/site_files.h"
#include "controller/playbook/model.h"
#include "controller/playbook/schema/schema.h"

namespace google::protobuf {
class Message;
}

namespace muster::controller::playbook {

class ParamReader {
 public:
  // `folder` is the role's, "playbooks/roles/munge/". REQUIRES: the role's templates and files have
  // been read already. All references must outlive the reader.
  ParamReader(const yaml::Document& document, const FileTree& site, const std::string& folder,
              const Role& role, bool in_handler, ErrorList* errors);

  // Sets the fields of `message` that are the same on every node and appends the others to
  // *depending. `what` names the map in errors ("'file'"); errors about its parameters together are
  // reported at `place`. Returns false when anything was wrong.
  bool Read(const yaml::Node& map, yaml::Mark place, absl::string_view what,
            const std::vector<Param>& params, ParamsCheck check, google::protobuf::Message* message,
            std::vector<NodeParam>* depending);

 private:
  bool ReadValue(const yaml::Node& node, const Param& param, const ValueTemplate& value,
                 google::protobuf::Message* message, std::vector<NodeParam>* depending);
  bool ReadMapList(const yaml::Node& list, const Param& param, google::protobuf::Message* message,
                   std::vector<NodeParam>* depending);
  bool CheckRoleFile(const Param& param, const yaml::Node& node, const std::string& name);

  const yaml::Document& document_;
  const FileTree& site_;
  const std::string& folder_;
  const Role& role_;
  const bool in_handler_;
  ErrorList* const errors_;
};

}  // namespace muster::controller::playbook
