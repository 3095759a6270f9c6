#include "controller/service/front/call_counter.h"

#include <memory>
#include <string>

#include <grpcpp/server_context.h>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "controller/metrics/call_durations.h"
#include "controller/service/front/authorization.h"
#include "controller/service/front/give_way.h"
#include "controller/session/caller.h"

namespace muster::controller {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::Interceptor;
using grpc::experimental::InterceptorBatchMethods;
using grpc::experimental::ServerRpcInfo;

class CallCounter final : public Interceptor {
 public:
  CallCounter(CallShares& shares, CallDurations& durations, Clock& clock, ServerRpcInfo* info,
              CallKind kind)
      : shares_(shares),
        durations_(durations),
        clock_(clock),
        info_(info),
        kind_(kind),
        began_at_(clock.Now()) {}
  ~CallCounter() override {
    if (!person_.empty()) shares_.End(person_, kind_);
  }

  // The caller is known once the call's metadata is, which arrives before everything else.
  void Intercept(InterceptorBatchMethods* methods) override {
    if (person_.empty() &&
        methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) {
      const std::shared_ptr<const grpc::AuthContext> auth = info_->server_context()->auth_context();
      const absl::StatusOr<Identity> identity =
          auth == nullptr ? absl::UnauthenticatedError("no connection") : IdentityOf(*auth);
      // A person's call runs in a thread that gRPC makes for it; only watches run in callbacks.
      if (kind_ != CallKind::kWatch) GiveWay();
      if (identity.ok()) {
        person_ = identity->name;
        shares_.Begin(person_, kind_);
      }
    }
    // A watch lasts as long as its watcher likes.
    if (kind_ != CallKind::kWatch && !person_.empty() &&
        methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      const auto code = static_cast<absl::StatusCode>(methods->GetSendStatus().error_code());
      durations_.Add(info_->method(), clock_.Now() - began_at_, absl::StatusCodeToString(code));
      shares_.Answer(person_, kind_);
    }
    methods->Proceed();
  }

 private:
  CallShares& shares_;
  CallDurations& durations_;
  Clock& clock_;
  ServerRpcInfo* const info_;
  const CallKind kind_;
  const absl::Time began_at_;
  std::string person_;  // empty: the call has not begun
};

}  // namespace

Interceptor* CallCounterFactory::CreateServerInterceptor(ServerRpcInfo* info) {
  if (IsForNodes(info->method())) return nullptr;
  return new CallCounter(shares_, durations_, clock_, info, KindOf(info->method()));
}

}  // namespace muster::controller
