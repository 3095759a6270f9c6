// Tokens that machines ask for themselves, and joining by them.
#include "controller/enrollment/token_requests.h"

#include <map>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/id.h"
#include "common/base/text/ip_network.h"
#include "common/pki/endorsement_key.h"
#include "controller/store/tables.h"
#include "tests/fixtures/enrollment_fixture.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/tpm_key.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// One of two.
const pki::EndorsementKey& Tpm(int i) {
  static const auto& tpms =
      *new std::vector<pki::EndorsementKey>{pki::ParseEndorsementKey(testing::NewTpmKey()).value(),
                                            pki::ParseEndorsementKey(testing::NewTpmKey()).value()};
  return tpms[i];
}

class TokenRequestsTest : public EnrollmentFixture {
 protected:
  void SetUp() override {
    EnrollmentFixture::SetUp();
    rules_["c001"] = {.may_ask = true};
    rules_["c002"] = {.may_ask = true};
    requests_ = std::make_unique<TokenRequests>(
        *store_, clock_,
        TokenRequests::Hooks{
            [this](absl::string_view name) { return rules_[std::string(name)]; },
            // A seal that whoever has the key can open.
            [](const pki::EndorsementKey& key, absl::string_view name, absl::string_view secret) {
              return absl::StrCat(key.sha256, name, secret);
            },
            [this](absl::string_view address) { return neighbors_[std::string(address)]; },
            [this](absl::string_view uuid) { return uuid == connected_; }});
  }
  static TokenRequest Of(const std::string& node, const pki::EndorsementKey* tpm,
                         const std::string& address = "10.0.0.9") {
    TokenRequest request;
    request.node_name = node;
    if (tpm != nullptr) {
      request.endorsement_key_pem = tpm->public_pem;
      request.key_name = std::string("\x00\x0b", 2) + std::string(32, 'n');
    }
    request.peer = PeerOf(address, 1023);
    return request;
  }
  // As gRPC writes it.
  static std::string PeerOf(const std::string& address, int port) {
    return absl::StrContains(address, ':') ? absl::StrCat("ipv6:[", address, "]:", port)
                                           : absl::StrCat("ipv4:", address, ":", port);
  }
  // What the machine that has the TPM reads.
  static std::string Unseal(const RequestedToken& made, const pki::EndorsementKey& tpm) {
    EXPECT_EQ(made.token, "");
    EXPECT_EQ(made.sealed.substr(0, 64), tpm.sha256);
    return absl::BytesToHexString(made.sealed.substr(64 + 34));
  }
  JoinRequest MachineWith(const pki::EndorsementKey& tpm, const std::string& node) {
    const auto made = requests_->Request(Of(node, &tpm));
    EXPECT_OK(made);
    JoinRequest machine = Machine(Unseal(*made, tpm), node);
    machine.node_uuid = pki::MachineUuid(tpm.sha256, node);
    return machine;
  }
  // All tokens, used or not.
  std::vector<TokenRecord> Tokens() { return enrollment_->ListTokens().value(); }
  size_t Enrollments() {
    size_t count = 0;
    EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const std::vector<EnrollmentRecord> all, txn.enrollments().List());
      count = all.size();
      return absl::OkStatus();
    }));
    return count;
  }
  uint64_t Entries() {
    uint64_t count = 0;
    EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(count, txn.events().Count());
      return absl::OkStatus();
    }));
    return count;
  }

  // Trusts the network of 10.0.0.9, which is the node's machine and has just begun to boot.
  void TrustC001() {
    rules_["c001"].macs = {"52:54:00:00:00:01", "52:54:00:00:00:02"};
    rules_["c001"].trusted_networks = {*IpNetwork::Parse("10.0.0.0/24")};
    neighbors_["10.0.0.9"] = "52:54:00:00:00:02";
    BeginBoot();
  }
  void BeginBoot() {
    EXPECT_OK(store_->Update([&](Transaction& txn) {
      return txn.boots().Append({.boot_id = NewUuid(), .node = "c001", .began_at = clock_.Now()},
                                10);
    }));
  }
  JoinRequest RecognizedAs(const std::string& node) {
    const auto made = requests_->Request(Of(node, nullptr));
    EXPECT_OK(made);
    JoinRequest machine = Machine(made->token, node);
    if (!made->node_uuid.empty()) machine.node_uuid = made->node_uuid;
    return machine;
  }

  std::map<std::string, TokenRequests::Rule> rules_;
  std::map<std::string, std::string> neighbors_;
  std::string connected_;  // the uuid that has a session
  std::unique_ptr<TokenRequests> requests_;
};

TEST_F(TokenRequestsTest, ATpmIsApprovedOnceAndJoinsAfterEachBoot) {
  const JoinRequest first = MachineWith(Tpm(0), "c001");
  const JoinResult waiting = enrollment_->Join(first).value();
  ASSERT_EQ(waiting.state, JoinResult::kPending);
  EXPECT_THAT(LastEvent().detail, HasSubstr("TPM " + Tpm(0).sha256));
  ASSERT_OK(enrollment_->Approve({"c001"}, {}, kAdmin));
  const std::string before =
      enrollment_->GetJoin(waiting.enrollment_id, first.token, "p").value().certificate_pem;
  EXPECT_EQ(Node(first.node_uuid).endorsement_key, Tpm(0).sha256);

  // It has worked, was found good, and is switched off.
  ASSERT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(NodeRecord node, txn.nodes().Get(first.node_uuid));
    node.state = NodeRecord::kConfigured;
    node.last_run_id = "r-1";
    node.last_run_result = "ok";
    node.last_seen_at = clock_.Now();
    RETURN_IF_ERROR(txn.nodes().Put(node));
    return txn.node_service().PutPass({.node_uuid = first.node_uuid});
  }));
  ASSERT_OK(enrollment_->UseKey(first.node_uuid, Serial(before), before, kAdmin));
  clock_.Advance(absl::Hours(5));
  const JoinRequest second = MachineWith(Tpm(0), "c001");
  EXPECT_EQ(second.node_uuid, first.node_uuid);
  const JoinResult joined = enrollment_->Join(second).value();
  ASSERT_EQ(joined.state, JoinResult::kApproved) << "nobody is asked again";
  EXPECT_OK(enrollment_->UseKey(second.node_uuid, Serial(joined.certificate_pem),
                                joined.certificate_pem, kAdmin));
  const NodeRecord node = Node(first.node_uuid);
  EXPECT_EQ(node.state, NodeRecord::kEnrolled);
  EXPECT_EQ(node.last_run_id, "r-1");
  EXPECT_EQ(node.last_run_result, kRunLost);
  EXPECT_EQ(node.locked_because, "");
  EXPECT_FALSE(node.last_seen_at.has_value());
  ASSERT_OK(store_->View([&](Transaction& txn) -> absl::Status {
    EXPECT_TRUE(absl::IsNotFound(txn.node_service().GetPass(first.node_uuid).status()))
        << "what is on it now has not passed";
    return absl::OkStatus();
  }));
  // The boot before is over: whoever has its key has copied it, and is noticed.
  EXPECT_THAT(enrollment_->UseKey(second.node_uuid, Serial(before), before, kAdmin),
              StatusIs(absl::StatusCode::kPermissionDenied, ::testing::_));
  EXPECT_NE(Node(first.node_uuid).locked_because, "");
}

TEST_F(TokenRequestsTest, ABootBeginsItsReportsAnewAndContinuesItsPlans) {
  rules_["c001"].endorsement_key = Tpm(0).sha256;
  const JoinRequest machine = MachineWith(Tpm(0), "c001");
  ASSERT_OK(enrollment_->Join(machine));
  // A clock that was ahead, and one that has been told of more plans than there are.
  const struct {
    uint64_t plans;
    uint64_t plans_after;
  } kCases[] = {{57, 57}, {uint64_t{1} << 62, 0}};
  for (const auto& [plans, plans_after] : kCases) {
    SCOPED_TRACE(plans);
    ASSERT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(NodeRecord node, txn.nodes().Get(machine.node_uuid));
      node.report_sequence = static_cast<uint64_t>(absl::ToUnixMillis(clock_.Now())) + 7'200'000;
      node.plan_sequence = plans;
      return txn.nodes().Put(node);
    }));
    clock_.Advance(absl::Minutes(10));
    ASSERT_EQ(enrollment_->Join(MachineWith(Tpm(0), "c001")).value().state, JoinResult::kApproved);
    EXPECT_EQ(Node(machine.node_uuid).report_sequence, 0u);
    EXPECT_EQ(Node(machine.node_uuid).plan_sequence, plans_after);
  }
}

TEST_F(TokenRequestsTest, ATpmThatTheInventoryNamesNeedsNobody) {
  rules_["c001"] = {.may_ask = true, .needs_tpm = true, .endorsement_key = Tpm(0).sha256};
  EXPECT_EQ(enrollment_->Join(MachineWith(Tpm(0), "c001")).value().state, JoinResult::kApproved);
  for (const pki::EndorsementKey* other :
       {&Tpm(1), static_cast<const pki::EndorsementKey*>(nullptr)})
    EXPECT_THAT(requests_->Request(Of("c001", other)),
                StatusIs(absl::StatusCode::kPermissionDenied, Said()));
  EXPECT_EQ(LastEvent().action, "node.refuse");
  EXPECT_THAT(LastEvent().detail, Said());
}

TEST_F(TokenRequestsTest, WithoutATpmEachBootIsApproved) {
  for (int boot = 0; boot < 2; ++boot) {
    const auto made = requests_->Request(Of("c001", nullptr));
    ASSERT_OK(made);
    EXPECT_EQ(made->sealed, "");
    const JoinRequest machine = Machine(made->token, "c001");
    EXPECT_EQ(enrollment_->Join(machine).value().state, JoinResult::kPending);
    ASSERT_OK(enrollment_->Approve({"c001"}, {}, kAdmin));
    EXPECT_EQ(Node(machine.node_uuid).endorsement_key, "");
    clock_.Advance(absl::Hours(1));
  }
  rules_["c001"].needs_tpm = true;
  EXPECT_THAT(requests_->Request(Of("c001", nullptr)),
              StatusIs(absl::StatusCode::kPermissionDenied, Said()));
}

TEST_F(TokenRequestsTest, InATrustedNetworkTheMacAddressIsTheNodeAfterEachBoot) {
  TrustC001();
  const JoinRequest first = RecognizedAs("c001");
  EXPECT_EQ(enrollment_->Join(first).value().state, JoinResult::kApproved);
  EXPECT_EQ(Node(first.node_uuid).endorsement_key, "");
  connected_ = first.node_uuid;
  EXPECT_EQ(requests_->Request(Of("c001", nullptr))->node_uuid, "") << "it runs";
  EXPECT_EQ(LastEvent().action, "node.distrust");
  EXPECT_THAT(LastEvent().detail, HasSubstr("is connected"));

  connected_.clear();
  clock_.Advance(absl::Hours(2));
  EXPECT_EQ(enrollment_->Join(RecognizedAs("c001")).value().state, JoinResult::kPending)
      << "nothing has booted as it";
  BeginBoot();
  const JoinRequest second = RecognizedAs("c001");
  EXPECT_EQ(second.node_uuid, first.node_uuid);
  EXPECT_EQ(enrollment_->Join(second).value().state, JoinResult::kApproved);
  // The token is good for that machine alone.
  JoinRequest other = RecognizedAs("c001");
  other.node_uuid = NewUuid();
  EXPECT_THAT(enrollment_->Join(other),
              StatusIs(absl::StatusCode::kPermissionDenied, ::testing::_));
  // Another machine under the same name is another node.
  rules_["c001"].macs = {"52:54:00:00:00:02"};
  EXPECT_NE(RecognizedAs("c001").node_uuid, first.node_uuid);
}

TEST_F(TokenRequestsTest, InATrustedNetworkOtherMachinesWaitAsEverywhere) {
  TrustC001();
  for (const std::string address : {"10.0.0.10", "10.0.1.9"}) {
    const auto made = requests_->Request(Of("c001", nullptr, address));
    ASSERT_OK(made);
    EXPECT_EQ(made->node_uuid, "") << address;
    JoinRequest machine = Machine(made->token, "c001");
    machine.peer = absl::StrCat("ipv4:", address, ":4000");
    EXPECT_EQ(enrollment_->Join(machine).value().state, JoinResult::kPending) << address;
  }
}

TEST_F(TokenRequestsTest, InATrustedNetworkANodeWithATpmIsNotOneWithout) {
  TrustC001();
  // The TPM is taken for the node's at its first boot, as nobody has another on record.
  EXPECT_EQ(enrollment_->Join(MachineWith(Tpm(0), "c001")).value().state, JoinResult::kApproved);
  EXPECT_EQ(requests_->Request(Of("c001", nullptr))->node_uuid, "");
  EXPECT_EQ(enrollment_->Join(MachineWith(Tpm(1), "c001")).value().state, JoinResult::kPending);
  EXPECT_EQ(Node(pki::MachineUuid(Tpm(0).sha256, "c001")).state, NodeRecord::kEnrolled);
}

TEST_F(TokenRequestsTest, InATrustedNetworkARemovedNodeComesBackByAPersonAlone) {
  TrustC001();
  const JoinRequest first = RecognizedAs("c001");
  ASSERT_OK(enrollment_->Join(first));
  ASSERT_OK(enrollment_->Remove({"c001"}, "sold", kAdmin));
  EXPECT_EQ(enrollment_->Join(RecognizedAs("c001")).value().state, JoinResult::kPending);
  ASSERT_OK(enrollment_->Approve({"c001"}, {}, kAdmin));
  EXPECT_EQ(Node(first.node_uuid).state, NodeRecord::kEnrolled);
  EXPECT_EQ(enrollment_->Join(RecognizedAs("c001")).value().state, JoinResult::kApproved);
}

TEST_F(TokenRequestsTest, NobodyAsksForNodesThatDoNotJoinAlone) {
  for (const std::string node : {"c003", "unknown"})
    EXPECT_THAT(requests_->Request(Of(node, &Tpm(0))),
                StatusIs(absl::StatusCode::kPermissionDenied, Said()))
        << node;
  EXPECT_TRUE(Tokens().empty());
  EXPECT_THAT(requests_->Request(Of("c001\n", nullptr)),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
  TokenRequest odd = Of("c001", &Tpm(0));
  odd.key_name = "short";
  EXPECT_THAT(requests_->Request(odd), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  odd = Of("c001", &Tpm(0));
  odd.endorsement_key_pem = "-----BEGIN PUBLIC KEY-----";
  EXPECT_THAT(requests_->Request(odd), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST_F(TokenRequestsTest, AnotherMachineCannotBeTheNodeOfATpm) {
  ASSERT_OK(enrollment_->Join(MachineWith(Tpm(0), "c001")));
  ASSERT_OK(enrollment_->Approve({"c001"}, {}, kAdmin));
  // Another TPM waits, and the node stays what it is.
  EXPECT_EQ(enrollment_->Join(MachineWith(Tpm(1), "c001")).value().state, JoinResult::kPending);
  EXPECT_EQ(Node(pki::MachineUuid(Tpm(0).sha256, "c001")).state, NodeRecord::kEnrolled);
  // A token that was sealed for one machine does not make another uuid of it.
  JoinRequest thief = MachineWith(Tpm(0), "c001");
  thief.node_uuid = pki::MachineUuid(Tpm(1).sha256, "c001");
  EXPECT_THAT(enrollment_->Join(thief),
              StatusIs(absl::StatusCode::kPermissionDenied, ::testing::_));
  // Nor does a person's token let anybody take the uuid.
  JoinRequest other = Machine(Token("c001"), "c001");
  other.node_uuid = pki::MachineUuid(Tpm(0).sha256, "c001");
  EXPECT_THAT(enrollment_->Join(other),
              StatusIs(absl::StatusCode::kFailedPrecondition, ::testing::_));
  // Not even when its certificates have expired.
  clock_.Advance(absl::Hours(24 * 31));
  other.token = Token("c001");
  EXPECT_THAT(enrollment_->Join(other),
              StatusIs(absl::StatusCode::kFailedPrecondition, ::testing::_));
}

TEST_F(TokenRequestsTest, AnotherMachineCannotBeTheNodeOfAMacAddress) {
  TrustC001();
  const JoinRequest machine = RecognizedAs("c001");
  ASSERT_OK(enrollment_->Join(machine));
  clock_.Advance(absl::Hours(24 * 31));
  JoinRequest other = Machine(Token("c001"), "c001");
  other.node_uuid = machine.node_uuid;
  EXPECT_THAT(enrollment_->Join(other),
              StatusIs(absl::StatusCode::kFailedPrecondition, ::testing::_));
}

TEST_F(TokenRequestsTest, RemovedAndLockedNodesComeBackByAPersonAlone) {
  const std::string uuid = pki::MachineUuid(Tpm(0).sha256, "c001");
  ASSERT_OK(enrollment_->Join(MachineWith(Tpm(0), "c001")));
  ASSERT_OK(enrollment_->Approve({"c001"}, {}, kAdmin));
  ASSERT_OK(enrollment_->Remove({"c001"}, "sold", kAdmin));
  EXPECT_EQ(enrollment_->Join(MachineWith(Tpm(0), "c001")).value().state, JoinResult::kPending);
  EXPECT_EQ(Node(uuid).state, NodeRecord::kRemoved);
  ASSERT_OK(enrollment_->Approve({"c001"}, {}, kAdmin));
  EXPECT_EQ(Node(uuid).state, NodeRecord::kEnrolled);
  // Also where the inventory still names its TPM.
  ASSERT_OK(enrollment_->Remove({"c001"}, "sold again", kAdmin));
  rules_["c001"].endorsement_key = Tpm(0).sha256;
  EXPECT_EQ(enrollment_->Join(MachineWith(Tpm(0), "c001")).value().state, JoinResult::kPending);
  ASSERT_OK(enrollment_->Approve({"c001"}, {}, kAdmin));

  ASSERT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(NodeRecord node, txn.nodes().Get(uuid));
    node.locked_because = "its key is in two places";
    return txn.nodes().Put(node);
  }));
  EXPECT_EQ(enrollment_->Join(MachineWith(Tpm(0), "c001")).value().state, JoinResult::kPending);
  EXPECT_NE(Node(uuid).locked_because, "");
  ASSERT_OK(enrollment_->Approve({"c001"}, {}, kAdmin));
  EXPECT_EQ(Node(uuid).locked_because, "");
}

TEST_F(TokenRequestsTest, AMachineOfTheNameTakesTheTpmsRight) {
  ASSERT_OK(enrollment_->Join(MachineWith(Tpm(0), "c001")));
  ASSERT_OK(enrollment_->Approve({"c001"}, {}, kAdmin));
  ASSERT_OK(enrollment_->Join(Machine(Token("c001"), "c001")));
  EXPECT_EQ(Node(pki::MachineUuid(Tpm(0).sha256, "c001")).state, NodeRecord::kRemoved);
  EXPECT_EQ(enrollment_->Join(MachineWith(Tpm(0), "c001")).value().state, JoinResult::kPending);
}

TEST_F(TokenRequestsTest, ABootLoopWaitsOnceAndIsToldOnce) {
  ASSERT_OK(enrollment_->Join(MachineWith(Tpm(0), "c001")));
  const uint64_t before = Entries();
  for (int boot = 0; boot < 5; ++boot) {
    clock_.Advance(absl::Minutes(9));
    ASSERT_OK(enrollment_->Join(MachineWith(Tpm(0), "c001")));
    ASSERT_OK(enrollment_->Join(Machine(requests_->Request(Of("c002", nullptr))->token, "c002")));
  }
  EXPECT_THAT(enrollment_->ListPending().value(), SizeIs(2));
  EXPECT_EQ(Entries() - before, 1u);
  EXPECT_EQ(Enrollments(), 2u);
  // Admitted, it gets a certificate for each boot, a dozen an hour.
  ASSERT_OK(enrollment_->Approve({"c001"}, {}, kAdmin));
  for (int boot = 0; boot < 11; ++boot) {
    clock_.Advance(absl::Seconds(10));
    ASSERT_OK(enrollment_->Join(MachineWith(Tpm(0), "c001"))) << boot;
  }
  EXPECT_THAT(enrollment_->Join(MachineWith(Tpm(0), "c001")),
              StatusIs(absl::StatusCode::kResourceExhausted, ::testing::_));
  EXPECT_EQ(Enrollments(), 2u) << "those of earlier boots are gone";
}

TEST_F(TokenRequestsTest, StrangersFillNeitherTheStoreNorTheWayOfAMachineThatIsKnown) {
  ASSERT_OK(enrollment_->Join(MachineWith(Tpm(0), "c001")));
  ASSERT_OK(enrollment_->Approve({"c001"}, {}, kAdmin));
  size_t given = 0;
  for (int i = 0; i < 200; ++i)
    given += requests_->Request(Of("c001", nullptr, absl::StrCat("10.0.1.", i))).ok();
  EXPECT_EQ(given, TokenRequests::kMaxOfName);
  EXPECT_THAT(requests_->Request(Of("c001", nullptr, "10.0.2.1")),
              StatusIs(absl::StatusCode::kResourceExhausted, Said()));
  EXPECT_EQ(enrollment_->Join(MachineWith(Tpm(0), "c001")).value().state, JoinResult::kApproved);
  // With the public key of its TPM, which is no secret; its own address has its own place.
  for (int i = 0; i < 20; ++i)
    EXPECT_OK(requests_->Request(Of("c001", &Tpm(0), absl::StrCat("10.0.4.", i))));
  EXPECT_EQ(enrollment_->Join(MachineWith(Tpm(0), "c001")).value().state, JoinResult::kApproved);
  given = 0;
  for (int i = 0; i < 200; ++i) given += requests_->Request(Of("c001", &Tpm(0), "10.0.4.9")).ok();
  EXPECT_LE(given, 11u);
  EXPECT_LE(Tokens().size(), 2 * TokenRequests::kMaxOfName + 3) << "of them three are used";
  // From one address, again and again.
  given = 0;
  for (int i = 0; i < 200; ++i) given += requests_->Request(Of("c002", nullptr, "10.0.3.1")).ok();
  EXPECT_LE(given, 11u);
  clock_.Advance(TokenRequests::kTtl);
  ASSERT_OK(requests_->Request(Of("c002", nullptr, "10.0.3.2")));
  EXPECT_THAT(Tokens(), SizeIs(1)) << "what has expired is gone";
}

TEST_F(TokenRequestsTest, MachinesOfOneIpv6NetworkAreNotOneMachine) {
  // Both wait: neither takes the other's place.
  std::vector<JoinRequest> machines;
  for (const std::string address : {"2001:db8::1", "2001:db8::2"}) {
    JoinRequest machine = Machine(requests_->Request(Of("c002", nullptr, address))->token, "c002");
    machine.peer = PeerOf(address, 4000);
    ASSERT_OK(enrollment_->Join(machine));
    machines.push_back(machine);
  }
  EXPECT_THAT(enrollment_->ListPending().value(), SizeIs(2));
  // The same machine after another boot does.
  JoinRequest again =
      Machine(requests_->Request(Of("c002", nullptr, "2001:db8::2"))->token, "c002");
  again.peer = PeerOf("2001:db8::2", 4001);
  ASSERT_OK(enrollment_->Join(again));
  EXPECT_THAT(enrollment_->ListPending().value(), SizeIs(2));

  // Nor does the public key of a TPM take the token that was sealed for it.
  const RequestedToken made = requests_->Request(Of("c001", &Tpm(0), "2001:db8::1")).value();
  ASSERT_OK(requests_->Request(Of("c001", &Tpm(0), "2001:db8::2")));
  JoinRequest meant = Machine(Unseal(made, Tpm(0)), "c001");
  meant.node_uuid = pki::MachineUuid(Tpm(0).sha256, "c001");
  EXPECT_OK(enrollment_->Join(meant));
}

TEST_F(TokenRequestsTest, ARackOfAnIpv6NetworkMayBootAtOnce) {
  for (int i = 0; i < 50; ++i) {
    const std::string node = absl::StrCat("n", i);
    rules_[node] = {.may_ask = true};
    ASSERT_OK(requests_->Request(Of(node, nullptr, absl::StrCat("2001:db8::", absl::Hex(i))))) << i;
  }
}

TEST_F(TokenRequestsTest, StrangersWhoWaitLeaveTheMachineThatWasMeant) {
  std::vector<JoinRequest> machines;
  for (int i = 0; i < 4; ++i) {
    const std::string address = absl::StrCat("10.0.1.", i);
    JoinRequest machine = Machine(requests_->Request(Of("c001", nullptr, address))->token, "c001");
    machine.peer = absl::StrCat("ipv4:", address, ":4000");
    ASSERT_OK(enrollment_->Join(machine));
    machines.push_back(machine);
    clock_.Advance(TokenRequests::kTtl);
  }
  JoinRequest fifth = Machine(requests_->Request(Of("c001", nullptr, "10.0.2.9"))->token, "c001");
  fifth.peer = "ipv4:10.0.2.9:4000";
  EXPECT_THAT(enrollment_->Join(fifth),
              StatusIs(absl::StatusCode::kResourceExhausted, ::testing::_));
  EXPECT_THAT(enrollment_->Approve({"c001"}, {}, kAdmin),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("--key")));
  const std::string key =
      pki::KeyFingerprint(pki::ParseCsr(machines[2].csr_pem).value().public_key_sha256);
  ASSERT_OK(enrollment_->Approve({"c001"}, {{"c001", key}}, kAdmin));
  EXPECT_EQ(Node(machines[2].node_uuid).state, NodeRecord::kEnrolled);
}

}  // namespace
}  // namespace muster::controller
