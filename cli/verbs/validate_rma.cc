// muster validate rma: a node's evidence for its vendor.
#include <CLI/CLI.hpp>
#include <iostream>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/connection.h"
#include "cli/render/show.h"
#include "cli/render/validation/rma_bundle.h"
#include "cli/verbs/verbs.h"
#include "cli/watch/validation_calls.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/sys/archive/archive.h"
#include "common/sys/file_system.h"
#include "muster/v1/node.grpc.pb.h"
#include "muster/v1/validation.grpc.pb.h"

namespace muster::cli {
namespace {

absl::StatusOr<v1::Facts> GetFacts(Connection& connection, const std::string& node) {
  v1::NodeService::Stub stub(connection.channel());
  v1::GetNodeFactsRequest request;
  request.set_name(node);
  v1::GetNodeFactsResponse response;
  RETURN_IF_ERROR(Call(connection, stub, &v1::NodeService::Stub::GetNodeFacts, request, &response));
  return std::move(*response.mutable_facts());
}

absl::StatusOr<v1::ListValidationsResponse> GetValidations(Connection& connection,
                                                           const std::string& node,
                                                           uint32_t limit) {
  v1::ValidationService::Stub stub(connection.channel());
  v1::ListValidationsRequest request;
  request.set_node(node);
  request.set_limit(limit);
  v1::ListValidationsResponse response;
  RETURN_IF_ERROR(
      Call(connection, stub, &v1::ValidationService::Stub::ListValidations, request, &response));
  return response;
}

absl::StatusOr<int> Rma(Context& context, const std::string& node, const std::string& file,
                        uint32_t limit) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  ASSIGN_OR_RETURN(const v1::Facts facts, GetFacts(*connection, node));
  ASSIGN_OR_RETURN(const v1::ListValidationsResponse list,
                   GetValidations(*connection, node, limit));
  if (list.validations().empty()) {
    return absl::NotFoundError(absl::StrCat(
        "no suite has tested ", node, " yet; e.g. muster validate ", node, " --suite acceptance"));
  }
  // Lists, because the evidence refers to their elements.
  std::list<v1::Validation> validations;
  std::list<std::vector<v1::NodeCheckResult>> results;
  std::vector<ValidationEvidence> evidence;
  for (const v1::Validation& each : list.validations()) {
    ASSIGN_OR_RETURN(v1::Validation validation, GetValidation(*connection, each.validation_id()));
    ASSIGN_OR_RETURN(std::vector<v1::NodeCheckResult> found,
                     GetCheckResults(*connection, each.validation_id(), node,
                                     /*with_samples=*/true));
    validations.push_back(std::move(validation));
    results.push_back(std::move(found));
    evidence.push_back({validations.back(), results.back()});
  }
  ASSIGN_OR_RETURN(const std::string archive,
                   sys::PackTarGz(RmaFiles(node, facts, evidence, context.clock->Now())));
  const std::string path = file.empty() ? absl::StrCat(node, "-evidence.tar.gz") : file;
  sys::RealFileSystem files;
  RETURN_IF_ERROR(files.WriteAtomically(path, archive, {.mode = 0644}));
  std::cout << path << "\n";
  return kExitClean;
}

}  // namespace

void AddRma(CLI::App& validate, Context& context) {
  auto node = std::make_shared<std::string>();
  auto file = std::make_shared<std::string>();
  auto limit = std::make_shared<uint32_t>(5);
  CLI::App* rma =
      validate.add_subcommand("rma", "Write an archive with a node's evidence for its vendor");
  rma->add_option("node", *node, "Such as c001")->required()->type_name("NODE");
  rma->add_option("file", *file, "File to write (default NODE-evidence.tar.gz)")->type_name("FILE");
  rma->add_option("-n,--limit", *limit, "How many of the newest validations (default 5)")
      ->type_name("COUNT");
  SetAction(rma, context,
            [&context, node, file, limit] { return Rma(context, *node, *file, *limit); });
}

}  // namespace muster::cli
