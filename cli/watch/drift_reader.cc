#include "cli/watch/drift_reader.h"

#include <string>

#include "cli/connection.h"
#include "common/base/status.h"
#include "muster/v1/drift.grpc.pb.h"

namespace muster::cli {
namespace {

// The controller asks nodes, one after the other; most answer within a second.
constexpr absl::Duration kPackagesTimeout = absl::Minutes(5);

}  // namespace

absl::StatusOr<v1::ListDriftResponse> ReadDrift(const Connection& connection,
                                                absl::string_view nodes) {
  v1::DriftService::Stub stub(connection.channel());
  v1::ListDriftRequest request;
  request.set_nodes(std::string(nodes));
  v1::ListDriftResponse response;
  RETURN_IF_ERROR(Call(connection, stub, &v1::DriftService::Stub::ListDrift, request, &response));
  return response;
}

absl::StatusOr<v1::CompareNodesResponse> ReadComparison(const Connection& connection,
                                                        absl::string_view nodes,
                                                        bool name_packages) {
  v1::DriftService::Stub stub(connection.channel());
  v1::CompareNodesRequest request;
  request.set_nodes(std::string(nodes));
  request.set_name_packages(name_packages);
  v1::CompareNodesResponse response;
  RETURN_IF_ERROR(Call(connection, stub, &v1::DriftService::Stub::CompareNodes, request, &response,
                       name_packages ? kPackagesTimeout : kCallTimeout));
  return response;
}

}  // namespace muster::cli
