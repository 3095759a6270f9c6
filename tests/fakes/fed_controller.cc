#include "tests/fakes/fed_controller.h"

#include <chrono>
#include <fstream>

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/pki/key.h"

namespace muster::testing {
namespace {

// A key with its certificate.
std::pair<std::string, std::string> Sign(const pki::Authority& authority, const char* name,
                                         pki::Usage usage) {
  const pki::KeyAndCsr key = pki::MakeKeyAndCsr(name).value();
  return {key.key_pem,
          pki::SignCsr(authority, key.csr_pem, {.common_name = name, .dns_sans = {"localhost"}},
                       {absl::Now() - absl::Minutes(5), absl::Now() + absl::Hours(1)}, usage)
              .value()};
}

}  // namespace

class FedController::Nodes final : public v1::NodeService::Service {
 public:
  explicit Nodes(FedController& controller) : controller_(controller) {}

  grpc::Status GetStatus(grpc::ServerContext*, const v1::GetStatusRequest*,
                         v1::GetStatusResponse* response) override {
    *response = controller_.status;
    return grpc::Status::OK;
  }

 private:
  FedController& controller_;
};

class FedController::Runs final : public v1::RunService::Service {
 public:
  explicit Runs(FedController& controller) : controller_(controller) {}

  grpc::Status GetRun(grpc::ServerContext*, const v1::GetRunRequest*,
                      v1::GetRunResponse* response) override {
    *response->mutable_run() = controller_.run;
    return grpc::Status::OK;
  }
  grpc::Status WatchRun(grpc::ServerContext* context, const v1::WatchRunRequest* request,
                        grpc::ServerWriter<v1::RunEvent>* writer) override {
    controller_.is_asked_for_changes = request->changes_only();
    return controller_.run_events.Tell(
        *context, *writer,
        [&](const v1::RunEvent& event) {
          return event.sequence() == 0 || event.sequence() > request->after_sequence();
        },
        [](const v1::RunEvent& event) { return event.has_run_finished(); });
  }

 private:
  FedController& controller_;
};

class FedController::Rollouts final : public v1::RolloutService::Service {
 public:
  explicit Rollouts(FedController& controller) : controller_(controller) {}

  grpc::Status GetRollout(grpc::ServerContext*, const v1::GetRolloutRequest*,
                          v1::GetRolloutResponse* response) override {
    *response->mutable_rollout() = controller_.rollout;
    return grpc::Status::OK;
  }
  grpc::Status WatchRollout(grpc::ServerContext* context, const v1::WatchRolloutRequest* request,
                            grpc::ServerWriter<v1::RolloutEvent>* writer) override {
    return controller_.rollout_events.Tell(
        *context, *writer,
        [&](const v1::RolloutEvent& event) { return event.sequence() > request->after_sequence(); },
        [](const v1::RolloutEvent& event) {
          return event.state() == v1::ROLLOUT_STATE_COMPLETED ||
                 event.state() == v1::ROLLOUT_STATE_ABORTED ||
                 event.state() == v1::ROLLOUT_STATE_ROLLED_BACK;
        });
  }

 private:
  FedController& controller_;
};

class FedController::Validations final : public v1::ValidationService::Service {
 public:
  explicit Validations(FedController& controller) : controller_(controller) {}

  grpc::Status GetValidation(grpc::ServerContext*, const v1::GetValidationRequest*,
                             v1::GetValidationResponse* response) override {
    *response->mutable_validation() = controller_.validation;
    return grpc::Status::OK;
  }
  grpc::Status WatchValidation(grpc::ServerContext* context, const v1::WatchValidationRequest*,
                               grpc::ServerWriter<v1::ValidationEvent>* writer) override {
    return controller_.validation_events.Tell(
        *context, *writer, [](const v1::ValidationEvent&) { return true; },
        [](const v1::ValidationEvent& event) { return event.has_finished(); });
  }

 private:
  FedController& controller_;
};

FedController::FedController(const std::filesystem::path& folder)
    : authority_(pki::MakeCa("test", absl::Hours(24), absl::Now()).value()),
      config_directory_(folder / "admin"),
      nodes_(std::make_unique<Nodes>(*this)),
      runs_(std::make_unique<Runs>(*this)),
      rollouts_(std::make_unique<Rollouts>(*this)),
      validations_(std::make_unique<Validations>(*this)) {
  std::tie(server_key_, server_certificate_) = Sign(authority_, "controller", pki::Usage::kServer);
  Listen();
  const auto [key, certificate] = Sign(authority_, "admin", pki::Usage::kClient);
  std::filesystem::create_directories(config_directory_);
  const auto write = [&](const char* name, const std::string& text) {
    std::ofstream(std::filesystem::path(config_directory_) / name) << text;
  };
  write("cli.json", absl::StrCat("{\"controller\": \"localhost:", port_, "\"}"));
  write("ca.crt", authority_.certificate_pem);
  write("client.crt", certificate);
  write("client.key", key);
}

FedController::~FedController() { Shutdown(); }

void FedController::Listen() {
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = authority_.certificate_pem;
  options.pem_key_cert_pairs.push_back({server_key_, server_certificate_});
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(absl::StrCat("127.0.0.1:", port_), grpc::SslServerCredentials(options),
                           &port);
  builder.RegisterService(nodes_.get());
  builder.RegisterService(runs_.get());
  builder.RegisterService(rollouts_.get());
  builder.RegisterService(validations_.get());
  server_ = builder.BuildAndStart();
  port_ = port;
}

void FedController::Shutdown() {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now());
  server_.reset();
}

void FedController::Restart() { Listen(); }

}  // namespace muster::testing
