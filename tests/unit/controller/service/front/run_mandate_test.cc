#include "controller/service/front/run_mandate.h"

#include <memory>

#include <gtest/gtest.h>

#include "controller/audit/audit.h"
#include "controller/enrollment/denylist.h"
#include "controller/store/soci/store.h"
#include "controller/store/tables.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::FakeClock;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;

// People stand behind their runs with a certificate; a policy and the controller have none.
TEST(RunMandateTest, PoliciesNeedNoCertificateAndPeopleDo) {
  FakeClock clock;
  const std::unique_ptr<Store> store = OpenStore(":memory:").value();
  const Denylist denylist;
  const auto check = [&](const RunMandate& mandate) {
    return CheckMandate(mandate, *store, denylist, clock.Now());
  };
  const absl::Time later = clock.Now() + absl::Hours(1);
  EXPECT_OK(check({PolicyActor("nightly").name, "", absl::UnixEpoch()}));
  EXPECT_OK(check({ControllerActor().name, "", absl::UnixEpoch()}));
  EXPECT_OK(check({"operator:bob", "01", later}));
  for (const RunMandate& mandate :
       {RunMandate{"operator:bob", "", later},  // not known
        RunMandate{"operator:bob", "01", absl::UnixEpoch()}, RunMandate{"viewer:eve", "01", later},
        RunMandate{"policy:", "", later},  // no policy's name
        RunMandate{"", "01", later}}) {
    EXPECT_THAT(check(mandate), StatusIs(absl::StatusCode::kPermissionDenied, Said()))
        << mandate.actor;
  }
}

// The attack: a run that was asked for with a stolen certificate, of which a restored store knows
// nothing, waits for a node that is away.
TEST(RunMandateTest, RevocationEndsThoseOfCertificatesThatTheStoreDoesNotKnow) {
  FakeClock clock;
  const std::unique_ptr<Store> store = OpenStore(":memory:").value();
  const absl::Time now = clock.Now(), later = now + absl::Hours(1);
  ASSERT_OK(
      store->Update([&](Transaction& txn) { return txn.certificates().RevokeByUser("bob", now); }));
  Denylist denylist;
  ASSERT_OK(denylist.Load(*store));
  EXPECT_THAT(CheckMandate({"operator:bob", "01", later, now}, *store, denylist, now),
              StatusIs(absl::StatusCode::kPermissionDenied, Said()));
  EXPECT_OK(
      CheckMandate({"operator:bob", "02", later, now + absl::Seconds(1)}, *store, denylist, now));
  EXPECT_OK(CheckMandate({"operator:eve", "03", later, now}, *store, denylist, now));
}

}  // namespace
}  // namespace muster::controller
