// Joining with a token.
#include "controller/enrollment/enrollment.h"

#include "absl/strings/str_cat.h"
#include "controller/enrollment/refusal_log.h"
#include "tests/fixtures/enrollment_fixture.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::_;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class JoinTest : public EnrollmentFixture {
 protected:
  // Every bad token gets the same answer; the audit log has the reason.
  void ExpectDenied(JoinRequest request, const std::string& logged) {
    request.peer = absl::StrCat("ipv4:10.0.1.", ++strangers_, ":4000");  // each has its own entry
    EXPECT_THAT(enrollment_->Join(request),
                StatusIs(absl::StatusCode::kPermissionDenied,
                         "token is not valid: it may be used, expired or for another node; make a "
                         "new one with `muster token create --nodes " +
                             request.node_name + "`"));
    const EventRecord event = LastEvent();
    EXPECT_EQ(event.action, "node.refuse");
    EXPECT_THAT(event.detail, AllOf(Said(), HasSubstr(logged), Not(HasSubstr(request.token))));
    EXPECT_EQ(event.peer, request.peer);
  }

  void Connect(const std::string& uuid) {
    ASSERT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(NodeRecord node, txn.nodes().Get(uuid));
      node.last_seen_at = clock_.Now();
      return txn.nodes().Put(node);
    }));
  }

  int strangers_ = 0;
};

TEST_F(JoinTest, GoodTokenGivesACertificate) {
  const JoinRequest request = Machine(Token("c001"), "c001");
  const JoinResult joined = enrollment_->Join(request).value();
  ASSERT_EQ(joined.state, JoinResult::kApproved);
  EXPECT_OK(pki::VerifySignedBy(joined.certificate_pem, ca_->roots().pem, clock_.Now()));
  const pki::Certificate certificate = pki::ParseCertificate(joined.certificate_pem).value();
  const Identity identity = IdentityOf(certificate).value();
  EXPECT_EQ(identity.Actor(), "node:" + request.node_uuid);
  EXPECT_EQ(certificate.not_after, clock_.Now() + absl::Hours(24 * 30));
  EXPECT_EQ(certificate.not_before, clock_.Now() - absl::Minutes(5));
  EXPECT_EQ(Node(request.node_uuid).state, NodeRecord::kEnrolled);
  EXPECT_EQ(LastEvent().action, "node.enroll");
  EXPECT_EQ(LastEvent().actor, "node:" + request.node_uuid);
}

TEST_F(JoinTest, BadTokensLookTheSame) {
  ExpectDenied(Machine("mtk-guessed", "c001"), "unknown token");

  const std::string other = Token("c002");
  ExpectDenied(Machine(other, "c001"), "is for c002, not for c001");

  const std::string used = Token("c001");
  ASSERT_OK(enrollment_->Join(Machine(used, "c001")));
  ExpectDenied(Machine(used, "c001"), "was used");

  const NewToken revoked =
      enrollment_->CreateTokens({"c002"}, absl::Hours(1), false, kAdmin).value()[0];
  ASSERT_OK(enrollment_->RevokeToken(revoked.token_id, kAdmin));
  ExpectDenied(Machine(revoked.token, "c002"), "is revoked");

  const std::string late = Token("c003");
  clock_.Advance(absl::Hours(1));
  ExpectDenied(Machine(late, "c003"), "expired");
}

TEST_F(JoinTest, LostAnswerIsGivenAgainToTheSameKeyOnly) {
  const JoinRequest request = Machine(Token("c001"), "c001");
  const JoinResult first = enrollment_->Join(request).value();
  EXPECT_EQ(enrollment_->Join(request).value().certificate_pem, first.certificate_pem);
  JoinRequest thief = request;
  thief.csr_pem = pki::MakeKeyAndCsr("c001").value().csr_pem;
  ExpectDenied(thief, "was used");
  ASSERT_OK(enrollment_->Remove({"c001"}, "gone", kAdmin));
  ExpectDenied(request, "was used");
}

// A machine that was admitted and could not store its certificate joins by a new line.
TEST_F(JoinTest, LostAnswerIsGivenAgainByAnotherTokenToTheSameKeyOnly) {
  JoinRequest request = Machine(Token("c001"), "c001");
  const JoinResult first = enrollment_->Join(request).value();
  clock_.Advance(absl::Hours(2));
  request.token = Token("c001");
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(enrollment_->Join(request).value().certificate_pem, first.certificate_pem);
  EXPECT_EQ(LastEvent().action, "node.enroll");
  EXPECT_TRUE(denied_.empty());

  JoinRequest thief = request;
  thief.token = Token("c001");
  thief.csr_pem = pki::MakeKeyAndCsr("c001").value().csr_pem;
  EXPECT_THAT(enrollment_->Join(thief), StatusIs(absl::StatusCode::kAlreadyExists, _));
  JoinRequest elsewhere = request;
  elsewhere.token = Token("c002");
  elsewhere.node_name = "c002";
  EXPECT_THAT(enrollment_->Join(elsewhere), StatusIs(absl::StatusCode::kFailedPrecondition, _));
  // A member has left the key of its join behind.
  Connect(request.node_uuid);
  request.token = Token("c001");
  EXPECT_THAT(enrollment_->Join(request), StatusIs(absl::StatusCode::kAlreadyExists, _));
  ASSERT_OK(enrollment_->Remove({"c001"}, "sold", kAdmin));
  request.token = Token("c001");
  EXPECT_THAT(enrollment_->Join(request), StatusIs(absl::StatusCode::kFailedPrecondition, _));
}

TEST_F(JoinTest, AMachineThatWaitsAndBeginsAnewWaitsOnce) {
  const JoinRequest first = Machine(Token("c001", /*require_approval=*/true), "c001");
  const std::string id = enrollment_->Join(first).value().enrollment_id;
  JoinRequest second = first;
  second.token = Token("c001", /*require_approval=*/true);
  EXPECT_EQ(enrollment_->Join(second).value().enrollment_id, id);
  EXPECT_EQ(enrollment_->ListPending().value().size(), 1u);
  EXPECT_EQ(enrollment_->GetJoin(id, second.token, "p").value().state, JoinResult::kPending);
  JoinRequest third = first;
  third.token = Token("c001");
  EXPECT_EQ(enrollment_->Join(third).value().state, JoinResult::kApproved);
  EXPECT_TRUE(enrollment_->ListPending().value().empty());
}

TEST_F(JoinTest, WaitsForApproval) {
  const JoinRequest request = Machine(Token("c001", /*require_approval=*/true), "c001");
  const JoinResult waiting = enrollment_->Join(request).value();
  ASSERT_EQ(waiting.state, JoinResult::kPending);
  EXPECT_EQ(waiting.certificate_pem, "");
  EXPECT_EQ(enrollment_->Join(request).value().enrollment_id, waiting.enrollment_id);
  const std::string& id = waiting.enrollment_id;
  EXPECT_EQ(enrollment_->GetJoin(id, request.token, "p").value().state, JoinResult::kPending);
  ASSERT_EQ(enrollment_->ListPending().value().size(), 1u);

  ASSERT_OK(enrollment_->Approve({"c001"}, {}, kAdmin));
  EXPECT_EQ(LastEvent().actor, "admin:alice");
  EXPECT_TRUE(enrollment_->ListPending().value().empty());
  const JoinResult approved = enrollment_->GetJoin(id, request.token, "p").value();
  EXPECT_EQ(approved.state, JoinResult::kApproved);
  EXPECT_THAT(enrollment_->GetJoin(id, "mtk-other", "p"),
              StatusIs(absl::StatusCode::kPermissionDenied, Said()));
  EXPECT_THAT(enrollment_->GetJoin("none", request.token, "p"),
              StatusIs(absl::StatusCode::kPermissionDenied, Said()));
}

TEST_F(JoinTest, AMachineThatComesLateGetsTheCertificateOfItsApproval) {
  const JoinRequest request = Machine(Token("c001", /*require_approval=*/true), "c001");
  const std::string id = enrollment_->Join(request).value().enrollment_id;
  clock_.Advance(absl::Hours(5));  // the token has expired, the administrator is late
  EXPECT_EQ(enrollment_->GetJoin(id, request.token, "p").value().state, JoinResult::kPending);
  ASSERT_OK(enrollment_->Approve({"c001"}, {}, kAdmin));
  const std::string approved = enrollment_->GetJoin(id, request.token, "p").value().certificate_pem;
  clock_.Advance(absl::Hours(24 * 29));
  EXPECT_EQ(enrollment_->GetJoin(id, request.token, "p").value().certificate_pem, approved);
  clock_.Advance(absl::Hours(24 * 2));
  EXPECT_THAT(enrollment_->GetJoin(id, request.token, "p"),
              StatusIs(absl::StatusCode::kPermissionDenied, Said()));
  EXPECT_THAT(LastEvent().detail, Said());
  std::vector<CertificateRecord> certificates;
  ASSERT_OK(store_->View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(certificates, txn.certificates().ListByNode(request.node_uuid));
    return absl::OkStatus();
  }));
  EXPECT_EQ(certificates.size(), 1u);
}

TEST_F(JoinTest, ApprovalIsOfTheKeyThatWasSeen) {
  const JoinRequest request = Machine(Token("c001", /*require_approval=*/true), "c001");
  ASSERT_OK(enrollment_->Join(request));
  const std::string key =
      pki::KeyFingerprint(pki::ParseCsr(request.csr_pem).value().public_key_sha256);
  EXPECT_EQ(key.size(), 39u);
  EXPECT_EQ(FingerprintOf(enrollment_->ListPending().value()[0]), key);
  EXPECT_THAT(LastEvent().detail, AllOf(Said(), HasSubstr("key " + key)));
  // Between the look and the approval another machine replaced the one that was seen.
  EXPECT_THAT(enrollment_->Approve({"c001"}, {{"c001", "0000-1111"}}, kAdmin),
              StatusIs(absl::StatusCode::kFailedPrecondition, AllOf(Said(), HasSubstr(key))));
  EXPECT_EQ(enrollment_->ListPending().value().size(), 1u);
  ASSERT_OK(enrollment_->Approve({"c001"}, {{"c001", key}}, kAdmin));
}

TEST_F(JoinTest, StrangersCannotGrowTheAuditLog) {
  const auto entries = [&] {
    uint64_t count = 0;
    EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(count, txn.events().Count());
      return absl::OkStatus();
    }));
    return count;
  };
  JoinRequest guess = Machine("mtk-guessed", "c001");
  for (int second = 0; second < 7200; second += 6) {  // as often as the limiter permits
    guess.peer = absl::StrCat("ipv4:10.0.0.66:", 1024 + second);
    EXPECT_FALSE(enrollment_->Join(guess).ok());
    clock_.Advance(absl::Seconds(6));
  }
  EXPECT_EQ(entries(), 2u);
  // From many addresses at once.
  const uint64_t before = entries();
  for (int i = 0; i < 2000; ++i) {
    guess.peer = absl::StrCat("ipv6:[2001:db8:", absl::Hex(i), "::1]:1");
    EXPECT_FALSE(enrollment_->Join(guess).ok());
  }
  EXPECT_LE(entries() - before, RefusalLog::kMaxEntries);
  clock_.Advance(absl::Hours(1));
  guess.peer = "ipv4:10.0.0.67:1";
  EXPECT_FALSE(enrollment_->Join(guess).ok());
  EXPECT_THAT(LastEvent().detail, Said());
}

TEST_F(JoinTest, UuidsAreNotTakenTwice) {
  JoinRequest clone = Machine(Token("c001"), "c001");
  ASSERT_OK(enrollment_->Join(clone));
  clone.token = Token("c002");
  clone.node_name = "c002";
  EXPECT_THAT(enrollment_->Join(clone), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  ASSERT_OK(enrollment_->Remove({"c001"}, "sold", kAdmin));
  clone.token = Token("c002");
  EXPECT_THAT(enrollment_->Join(clone), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST_F(JoinTest, RefusesMalformedRequests) {
  JoinRequest request = Machine(Token("c001"), "c001");
  for (const auto& [field, value, message] :
       std::vector<std::tuple<std::string JoinRequest::*, std::string, std::string>>{
           {&JoinRequest::node_uuid, "1", "UUID"},
           {&JoinRequest::node_name, "../c001", "1 to 63"},
           {&JoinRequest::csr_pem, "", "signing request"},
           {&JoinRequest::token, std::string(200, 'x'), "join token"}}) {
    JoinRequest bad = request;
    bad.*field = value;
    EXPECT_THAT(enrollment_->Join(bad),
                StatusIs(absl::StatusCode::kInvalidArgument, AllOf(Said(), HasSubstr(message))));
  }
  EXPECT_OK(enrollment_->Join(request));  // none of them used up the token
}

TEST_F(JoinTest, NameThatLeftTheInventory) {
  const std::string token = Token("c003");
  inventory_.erase("c003");
  EXPECT_THAT(enrollment_->Join(Machine(token, "c003")),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST_F(JoinTest, GuessingIsSlow) {
  for (int i = 0; i < PeerLimiter::kBurst; ++i) {
    EXPECT_EQ(enrollment_->Join(Machine("mtk-x", "c001")).status().code(),
              absl::StatusCode::kPermissionDenied);
  }
  const JoinRequest good = Machine(Token("c001"), "c001");
  EXPECT_EQ(enrollment_->Join(good).status().code(), absl::StatusCode::kResourceExhausted);
  clock_.Advance(PeerLimiter::kRefill);
  EXPECT_OK(enrollment_->Join(good));
}

TEST_F(JoinTest, TokensNeedKnownNamesAndASaneLife) {
  EXPECT_THAT(enrollment_->CreateTokens({"c001", "c999"}, absl::Hours(1), false, kAdmin),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_TRUE(enrollment_->ListTokens().value().empty());
  EXPECT_THAT(enrollment_->CreateTokens({"c001"}, absl::Hours(169), false, kAdmin),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  const std::string token = Token("c001");
  EXPECT_EQ(token.size(), 56u);
  EXPECT_NE(token, Token("c001"));
  EXPECT_NE(enrollment_->ListTokens().value()[0].hash, token);
}

}  // namespace
}  // namespace muster::controller
