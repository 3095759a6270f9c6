// Tells CallShares when calls begin and end, and counts how long they took.
#pragma once

#include <grpcpp/support/server_interceptor.h>

#include "controller/service/front/call_shares.h"

namespace muster {
class Clock;
}

namespace muster::controller {

class CallDurations;

// Makes an interceptor for each call of a person. An interceptor lives as long as its call, however
// the call ends, and inspects no messages. CallGate, which comes before the calls, admits them.
class CallCounterFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  // The references must outlive the server.
  CallCounterFactory(CallShares& shares, CallDurations& durations, Clock& clock)
      : shares_(shares), durations_(durations), clock_(clock) {}

  // nullptr for a node's call, which needs none.
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override;

 private:
  CallShares& shares_;
  CallDurations& durations_;
  Clock& clock_;
};

}  // namespace muster::controller
