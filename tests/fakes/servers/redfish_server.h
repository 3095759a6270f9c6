// A Redfish service on a free port of loopback, with TLS and a machine, that may also misbehave.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "tests/fakes/servers/http_server.h"

namespace muster::testing {

enum class RedfishFault {
  kNone,
  kHangs,         // it takes the request and says nothing
  kServerError,   // 503
  kGarbage,       // 200, and no JSON
  kHuge,          // an answer of two MiB
  kDeep,          // lists in lists
  kRedirects,     // to another host
  kLies,          // orders are taken and not carried out
  kEchoes,        // an error that repeats the password
  kForeignReset,  // the action is on another host
  // It shows the mode of its boot device, and takes a device
  kWantsMode,        // with its mode alone,
  kFixedMode,        // without its mode alone,
  kLaterBoot,        // at the object of later settings alone, by its etag,
  kWantsEtag,        // by the etag of the system alone,
  kMovingEtag,       // by no etag, although it has one,
  kSystemBootOnly,   // at the system alone, although the later settings show one, too,
  kHiddenLaterBoot,  // or at the later settings alone, which show none, although the system does.
};

// Thread-safe.
class RedfishServer {
 public:
  RedfishServer(std::string user, std::string password);

  int port() const;
  const std::string& ca() const { return ca_; }    // PEM
  const std::string& pin() const { return pin_; }  // of the certificate, 64 hexadecimal digits
  void Set(RedfishFault fault);
  void SetOn(bool is_on);
  bool is_on() const;
  // What the machine was told: "On", "boot Once Pxe", "light on".
  std::vector<std::string> orders() const;
  std::vector<HttpRequest> requests() const { return server_->requests(); }

 private:
  HttpReply Answer(const HttpRequest& request);
  HttpReply System(const HttpRequest& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  HttpReply Describe(bool is_later) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Why a change is refused; status 204: it is not.
  HttpReply Refusal(const HttpRequest& request, bool has_boot, bool has_mode) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string user_, password_;
  std::string ca_, pin_;
  mutable absl::Mutex mutex_;
  RedfishFault fault_ ABSL_GUARDED_BY(mutex_) = RedfishFault::kNone;
  bool is_on_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::string> orders_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<HttpServer> server_;
};

}  // namespace muster::testing
