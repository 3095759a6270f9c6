// The enrollment listener of a controller, over real TLS.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/pki/authority.h"
#include "common/pki/certificate.h"
#include "common/pki/key.h"
#include "muster/v1/enrollment.grpc.pb.h"

namespace muster::testing {

// What a TPM that opens "\x01\x02" reads, in hexadecimal.
inline constexpr char kOpened[] = "0102";

// An enrollment listener with TLS, whose administrator approves at the second question.
class FakeEnrollment final : public v1::EnrollmentService::Service {
 public:
  FakeEnrollment() {
    const absl::Time now = clock_.Now();
    ca_ = pki::MakeCa("test CA", absl::Hours(48), now - absl::Hours(24)).value();
    const pki::KeyAndCsr made = pki::MakeKeyAndCsr("server").value();
    const std::string certificate =
        pki::SignCsr(ca_, made.csr_pem, {.common_name = "server", .ip_sans = {"127.0.0.1"}},
                     {.not_before = now - absl::Hours(1), .not_after = now + absl::Hours(1)},
                     pki::Usage::kServer)
            .value();
    grpc::SslServerCredentialsOptions options;
    options.pem_key_cert_pairs = {{made.key_pem, certificate + ca_.certificate_pem}};
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(options), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }
  void Stop() { server_->Shutdown(); }
  std::string pin() const { return pki::Sha256Pin(ca_.certificate_pem).value(); }

  v1::EnrollmentState decision = v1::ENROLLMENT_STATE_APPROVED;
  bool lose_first_answer = false;
  std::string good_token = "tok-1";
  int strange_machines = 0;  // so many requests have a uuid that belongs to another machine
  absl::Duration lifetime = absl::Hours(24);  // of the certificates
  grpc::Status wrong;                         // answers a question instead of the decision
  int wrong_answers = -1;                     // so many times; negative: always
  std::vector<v1::EnrollRequest> requests;
  std::vector<v1::RequestTokenRequest> asked;
  std::string recognized_as;
  std::string asked_from;
  v1::GetDiskOrderResponse disk_order;
  std::vector<v1::GetDiskOrderRequest> disk_questions;
  int disk_refusals = 0;  // before it answers

 private:
  grpc::Status RequestToken(grpc::ServerContext* context, const v1::RequestTokenRequest* request,
                            v1::RequestTokenResponse* response) override {
    asked.push_back(*request);
    asked_from = context->peer();
    if (request->endorsement_key_pem().empty()) {
      response->set_token("tok-1");
      response->set_node_uuid(recognized_as);
    } else {
      response->set_sealed_token("sealed");
    }
    return grpc::Status::OK;
  }
  grpc::Status Enroll(grpc::ServerContext*, const v1::EnrollRequest* request,
                      v1::EnrollResponse* response) override {
    requests.push_back(*request);
    if (request->token() != good_token && request->token() != kOpened) {
      return grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "the token is used");
    }
    if (strange_machines > 0) {
      --strange_machines;
      return grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "the uuid belongs to another");
    }
    if (lose_first_answer && requests.size() == 1) {
      return grpc::Status(grpc::StatusCode::UNAVAILABLE, "the cable");
    }
    response->set_state(v1::ENROLLMENT_STATE_PENDING);
    response->set_enrollment_id("e-1");
    response->mutable_retry_after()->set_nanos(1'000'000);
    return grpc::Status::OK;
  }
  grpc::Status GetEnrollment(grpc::ServerContext*, const v1::GetEnrollmentRequest* request,
                             v1::EnrollResponse* response) override {
    if (!wrong.ok() && wrong_answers != 0) {
      wrong_answers -= wrong_answers > 0;
      return wrong;
    }
    response->set_state(decision);
    if (decision != v1::ENROLLMENT_STATE_APPROVED) return grpc::Status::OK;
    const absl::Time now = clock_.Now();
    response->set_certificate_pem(
        pki::SignCsr(ca_, requests.back().csr_pem(), {.common_name = "c001"},
                     {.not_before = now - absl::Minutes(1), .not_after = now + lifetime},
                     pki::Usage::kClient)
            .value());
    response->set_ca_pem(ca_.certificate_pem);
    return grpc::Status::OK;
  }

  grpc::Status GetDiskOrder(grpc::ServerContext*, const v1::GetDiskOrderRequest* request,
                            v1::GetDiskOrderResponse* response) override {
    disk_questions.push_back(*request);
    if (disk_refusals-- > 0) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "not yet");
    if (!wrong.ok()) return wrong;
    *response = disk_order;
    return grpc::Status::OK;
  }

  RealClock clock_;
  pki::Authority ca_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace muster::testing
