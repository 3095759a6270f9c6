// Tells CallShares when calls begin and end.
#pragma once

#include <grpcpp/support/server_interceptor.h>

#include "controller/service/front/call_shares.h"

namespace muster::controller {

// Makes an interceptor for each call of a person. An interceptor lives as long as its call, however
// the call ends, and inspects no messages. CallGate, which comes before the calls, admits them.
class CallCounterFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  // `shares` must outlive the server.
  explicit CallCounterFactory(CallShares& shares) : shares_(shares) {}

  // nullptr for a node's call, which needs none.
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override;

 private:
  CallShares& shares_;
};

}  // namespace muster::controller
