// A whole controller in this process, on free ports of the loopback, with a CA of its own.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/clock.h"
#include "common/base/id.h"
#include "common/pki/authority.h"
#include "common/pki/key.h"
#include "controller/controller.h"
#include "controller/enrollment/certificate_authority.h"
#include "controller/service/credentials.h"
#include "controller/store/soci_store.h"
#include "controller/store/tables.h"
#include "muster/v1/inventory.pb.h"
#include "tests/fakes/status_matchers.h"

namespace muster::controller {

struct ClientIdentity {
  std::string key_pem;
  std::string certificate_pem;
};

class ControllerFixture : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_OK(HardenTls()); }

  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) / NewShortId("controller");
    std::filesystem::create_directories(folder_ / "pki");
    std::filesystem::create_directories(folder_ / "packages");
    authority_ = pki::MakeCa("test", absl::Hours(24 * 3650), absl::Now()).value();
    ca_ = std::make_unique<CertificateAuthority>(
        CertificateAuthority::Create(authority_.certificate_pem, authority_.key).value());
    const pki::KeyAndCsr key = pki::MakeKeyAndCsr("controller").value();
    const std::string certificate =
        pki::SignCsr(
            authority_, key.csr_pem, {.common_name = "controller", .dns_sans = {"localhost"}},
            {absl::Now() - absl::Minutes(5), absl::Now() + absl::Hours(1)}, pki::Usage::kServer)
            .value();
    Write("pki/ca.crt", authority_.certificate_pem);
    Write("pki/ca.key", authority_.key);
    std::filesystem::permissions(folder_ / "pki/ca.key", std::filesystem::perms::owner_read);
    Write("pki/controller.crt", certificate);
    Write("pki/controller.key", key.key_pem);
    config_.cluster = "test";
    config_.controller_address = "localhost:7443";
    config_.enrollment_address = "localhost:7444";
    config_.listen = config_.enrollment_listen = config_.package_listen = "127.0.0.1:0";
    config_.pki_directory = folder_ / "pki";
    config_.state_directory = folder_ / "state";
    config_.package_directory = folder_ / "packages";
    StoreInventory("cluster: test\nnodes:\n  c[001-003]: {role: compute}\n");
    Start();
  }
  void TearDown() override {
    controller_.reset();
    std::filesystem::remove_all(folder_);
  }

  // The controller's clock, for tests that want another than the machine's.
  virtual Clock& Time() { return clock_; }

  void Start() {
    absl::StatusOr<std::unique_ptr<Controller>> started = Controller::Start(config_, Time());
    ASSERT_OK(started);
    controller_ = *std::move(started);
  }

  void Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
  }

  // Call it while the controller is not running: only one process may hold the store.
  void StoreInventory(const std::string& yaml, uint64_t revision = 1) {
    std::filesystem::create_directories(config_.state_directory);
    const std::unique_ptr<Store> store = OpenStore(config_.state_directory + "/muster.db").value();
    v1::ApplyInventoryRequest request;
    v1::InventoryFile& file = *request.add_files();
    file.set_path("cluster.yaml");
    file.set_content(yaml);
    ASSERT_OK(store->Update([&](Transaction& txn) {
      return txn.inventory().Insert({revision, absl::Now(), "test", request.SerializeAsString()});
    }));
  }

  // Credentials from our CA, or from another one of the same name.
  ClientIdentity Issue(Role role, const std::string& name, bool is_foreign = false) {
    const pki::KeyAndCsr key = pki::MakeKeyAndCsr("client").value();
    const pki::Authority other = pki::MakeCa("test", absl::Hours(1), absl::Now()).value();
    const CertificateAuthority foreign =
        CertificateAuthority::Create(other.certificate_pem, other.key).value();
    const CertificateAuthority& ca = is_foreign ? foreign : *ca_;
    const IssuedCertificate issued =
        (role == Role::kNode
             ? ca.IssueNode(key.csr_pem, name, "c001", absl::Now())
             : ca.IssueUser(key.csr_pem, name, role, absl::Now(), absl::Now() + absl::Hours(1)))
            .value();
    return {key.key_pem, issued.pem};
  }

  std::shared_ptr<grpc::Channel> Connect(int port, const ClientIdentity& identity = {}) {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = authority_.certificate_pem;
    options.pem_private_key = identity.key_pem;
    options.pem_cert_chain = identity.certificate_pem;
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(absl::StrCat("localhost:", port),
                                     grpc::SslCredentials(options), arguments);
  }

  RealClock clock_;
  std::filesystem::path folder_;
  pki::Authority authority_;
  std::unique_ptr<CertificateAuthority> ca_;
  Config config_;
  std::unique_ptr<Controller> controller_;
};

}  // namespace muster::controller
