// A main listener like the controller's, and people with certificates of its authority.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/clock.h"
#include "common/pki/authority.h"
#include "common/pki/key.h"
#include "controller/enrollment/certificate_authority.h"
#include "controller/enrollment/denylist.h"
#include "controller/service/call_shares.h"
#include "controller/service/credentials.h"

namespace muster::testing {

// Construct it before the server and keep it longer.
class PeopleOverTls {
 public:
  PeopleOverTls() {
    EXPECT_TRUE(controller::HardenTls().ok());
    identity_.key_pem = key_.key_pem;
    identity_.ca_pem = ca_.roots().pem;
    identity_.certificate_pem =
        pki::SignCsr(authority_, key_.csr_pem, {.common_name = "x", .dns_sans = {"localhost"}},
                     {absl::Now() - absl::Minutes(5), absl::Now() + absl::Hours(1)},
                     pki::Usage::kServer)
            .value();
  }

  Clock& clock() { return clock_; }
  controller::Denylist& denylist() { return denylist_; }
  controller::CallShares& shares() { return shares_; }

  std::shared_ptr<grpc::ServerCredentials> Server() {
    return controller::MutualTlsCredentials(identity_, denylist_, clock_, shares_);
  }

  // A connection of its own, with its own certificate.
  std::shared_ptr<grpc::Channel> As(const std::string& name, controller::Role role, int port) {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = ca_.roots().pem;
    options.pem_private_key = key_.key_pem;
    options.pem_cert_chain =
        ca_.IssueUser(key_.csr_pem, name, role, absl::Now(), absl::Now() + absl::Hours(1))
            .value()
            .pem;
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(absl::StrCat("localhost:", port),
                                     grpc::SslCredentials(options), arguments);
  }

 private:
  RealClock clock_;
  pki::Authority authority_ = pki::MakeCa("test", absl::Hours(24), absl::Now()).value();
  controller::CertificateAuthority ca_ =
      controller::CertificateAuthority::Create(authority_.certificate_pem, authority_.key).value();
  pki::KeyAndCsr key_ = pki::MakeKeyAndCsr("localhost").value();
  controller::TlsIdentity identity_;
  controller::Denylist denylist_;
  controller::CallShares shares_{clock_};
};

}  // namespace muster::testing
