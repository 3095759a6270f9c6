// Enrollment over a real store in memory, with a fake clock and an inventory of three nodes.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/container/flat_hash_set.h"
#include "common/base/id.h"
#include "common/base/status.h"
#include "common/pki/certificate.h"
#include "common/pki/key.h"
#include "controller/enrollment/enrollment.h"
#include "controller/store/soci_store.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/status_matchers.h"

namespace muster::controller {

class EnrollmentFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    store_ = OpenStore(":memory:").value();
    authority_ = pki::MakeCa("test", absl::Hours(24 * 3650), clock_.Now()).value();
    ca_ = std::make_unique<CertificateAuthority>(
        CertificateAuthority::Create(authority_.certificate_pem, authority_.key).value());
    enrollment_ = std::make_unique<Enrollment>(
        *store_, *ca_, denylist_, clock_,
        Enrollment::Hooks{[this](absl::string_view name) { return inventory_.contains(name); },
                          [this](absl::string_view uuid, absl::string_view reason) {
                            denied_.emplace_back(uuid, reason);
                          }});
  }

  std::string Token(const std::string& node, bool require_approval = false) {
    return enrollment_->CreateTokens({node}, absl::Hours(1), require_approval, kAdmin)
        .value()[0]
        .token;
  }
  static JoinRequest Machine(const std::string& token, const std::string& name) {
    JoinRequest request;
    request.token = token;
    request.node_name = name;
    request.node_uuid = NewUuid();
    request.csr_pem = pki::MakeKeyAndCsr(name).value().csr_pem;
    request.description = "a machine";
    request.peer = "ipv4:10.0.0.9:4000";
    return request;
  }
  NodeRecord Node(absl::string_view uuid) {
    NodeRecord node;
    EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(node, txn.nodes().Get(uuid));
      return absl::OkStatus();
    }));
    return node;
  }
  EventRecord LastEvent() {
    std::vector<EventRecord> events;
    EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(events, txn.events().List(1, 0));
      return absl::OkStatus();
    }));
    return events.empty() ? EventRecord{} : events[0];
  }
  static std::string Serial(absl::string_view pem) {
    return pki::ParseCertificate(pem).value().serial;
  }

  const Actor kAdmin = {"admin:alice", "ipv4:10.0.0.1:5000"};
  ::muster::testing::FakeClock clock_;
  std::unique_ptr<Store> store_;
  pki::Authority authority_;
  std::unique_ptr<CertificateAuthority> ca_;
  Denylist denylist_;
  absl::flat_hash_set<std::string> inventory_ = {"c001", "c002", "c003"};
  std::vector<std::pair<std::string, std::string>> denied_;
  std::unique_ptr<Enrollment> enrollment_;
};

}  // namespace muster::controller
