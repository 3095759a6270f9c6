#include "cli/watch/validation_calls.h"

#include <iostream>
#include <utility>

#include "cli/connection.h"
#include "cli/render/validation/validation_report.h"
#include "common/base/status.h"
#include "muster/v1/validation.grpc.pb.h"

namespace muster::cli {

using ValidationStub = v1::ValidationService::Stub;

absl::StatusOr<v1::Validation> GetValidation(Connection& connection, const std::string& id) {
  ValidationStub stub(connection.channel());
  v1::GetValidationRequest request;
  request.set_validation_id(id);
  v1::GetValidationResponse response;
  RETURN_IF_ERROR(Call(connection, stub, &ValidationStub::GetValidation, request, &response));
  return std::move(*response.mutable_validation());
}

absl::Status ForEachCheckResult(Connection& connection, const std::string& id,
                                const std::string& node, bool with_samples,
                                const std::function<void(v1::NodeCheckResult&)>& take) {
  ValidationStub stub(connection.channel());
  v1::ListCheckResultsRequest request;
  request.set_validation_id(id);
  request.set_node(node);
  request.set_with_samples(with_samples);
  grpc::ClientContext call;
  const auto reader = stub.ListCheckResults(&call, request);
  v1::NodeCheckResult result;
  while (reader->Read(&result)) {
    const std::string damage = DescribeDamage(id, result);
    if (damage.empty()) {
      take(result);
    } else {
      std::cerr << "muster: " << damage << "\n";
    }
  }
  return connection.Convert(reader->Finish());
}

absl::StatusOr<std::vector<v1::NodeCheckResult>> GetCheckResults(Connection& connection,
                                                                 const std::string& id,
                                                                 const std::string& node,
                                                                 bool with_samples) {
  std::vector<v1::NodeCheckResult> results;
  RETURN_IF_ERROR(ForEachCheckResult(
      connection, id, node, with_samples,
      [&](v1::NodeCheckResult& result) { results.push_back(std::move(result)); }));
  return results;
}

}  // namespace muster::cli
