#include "cli/bootstrap/admission.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/yaml/document.h"

namespace muster::cli {
namespace {

constexpr absl::string_view kFolder = "playbooks/suites/";
constexpr absl::string_view kExtension = ".yaml";

}  // namespace

std::string AdmissionHint(const std::map<std::string, std::string>& site, const std::string& suite,
                          const std::string& nodes) {
  bool is_known = false;
  std::vector<std::string> admitting;
  for (const auto& [path, text] : site) {
    absl::string_view name = path;
    if (!absl::ConsumePrefix(&name, kFolder) || !absl::ConsumeSuffix(&name, kExtension)) continue;
    const absl::StatusOr<yaml::Document> document = yaml::Document::Parse(path, text);
    if (!document.ok()) continue;
    const yaml::Node* admits = document->root().Find("admits");
    const bool does = admits != nullptr && admits->text() == "true";
    if (name == suite && does) return "";
    is_known |= name == suite;
    if (does) admitting.emplace_back(name);
  }
  if (!is_known) return "";
  if (admitting.empty()) {
    return absl::StrCat("suite ", suite,
                        " does not admit nodes, and no other suite of the site does: only a pass ",
                        "of a suite with 'admits: true' lets nodes take jobs\n");
  }
  return absl::StrCat("suite ", suite,
                      " does not admit nodes: passing it does not let a node take jobs. ",
                      absl::StrJoin(admitting, ", "), admitting.size() == 1 ? " does" : " do",
                      ": muster validate '", nodes, "' --suite ", admitting.front(), "\n");
}

}  // namespace muster::cli
