#include "controller/timeline/timeline.h"

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/controller/timeline/timeline_fixture.h"

namespace muster::controller::timeline {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class TimelineTest : public TimelineFixture {
 protected:
  Page Backwards(const Query& query, const v1::TimelinePosition& before, uint32_t limit,
                 std::optional<absl::Time> since = std::nullopt) {
    Page page;
    EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      absl::StatusOr<Page> read = ReadBackwards(txn, query, before, since, limit);
      if (read.ok()) page = *std::move(read);
      return read.status();
    }));
    return page;
  }
  Page Forwards(const Query& query, const v1::TimelinePosition& after, uint32_t limit) {
    Page page;
    EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      absl::StatusOr<Page> read = ReadForwards(txn, query, after, limit);
      if (read.ok()) page = *std::move(read);
      return read.status();
    }));
    return page;
  }
  v1::TimelinePosition End() {
    v1::TimelinePosition end = NewestPlace();
    end.set_audit(end.audit() + 1);
    end.set_health(end.health() + 1);
    return end;
  }
  Page All(const Query& query = {}) { return Backwards(query, End(), kMaxEvents); }

  static std::vector<std::string> Kinds(const Page& page) {
    std::vector<std::string> kinds;
    for (const v1::TimelineEvent& event : page.events) kinds.push_back(event.kind());
    return kinds;
  }
};

TEST_F(TimelineTest, BothSourcesAreOneLine) {
  Act(1, "run.create", "r-1", "site.yaml on c[001-002]");
  Change(2, "c001", "gpu_lost", v1::CONDITION_STATUS_BAD);
  Act(3, "node.drain", "c001", "fans");
  Change(4, "c001", "gpu_lost", v1::CONDITION_STATUS_OK);
  const Page page = All();
  EXPECT_THAT(Kinds(page),
              ElementsAre("condition.good", "node.drain", "condition.bad", "run.create"));
  EXPECT_TRUE(page.is_last);
  EXPECT_EQ(page.events[1].nodes(), "c001");
  EXPECT_EQ(page.events[1].actor(), "operator:ann");
  EXPECT_EQ(page.events[1].text(), "fans");
  EXPECT_EQ(page.events[2].subject(), "gpu_lost");
  EXPECT_EQ(page.events[3].subject(), "r-1");
  EXPECT_THAT(Kinds(Forwards({}, {}, 10)),
              ElementsAre("run.create", "condition.bad", "node.drain", "condition.good"));
}

TEST_F(TimelineTest, NodesThatAreLostAndBootedHaveKindsOfTheirOwn) {
  Change(1, "c001", "node_lost", v1::CONDITION_STATUS_BAD);
  Change(2, "c001", "node_rebooted", v1::CONDITION_STATUS_OK);
  Change(3, "c001", "node_lost", v1::CONDITION_STATUS_OK);
  Change(4, "c001", "gpu_lost", v1::CONDITION_STATUS_UNKNOWN, "");
  const Page page = All();
  EXPECT_THAT(Kinds(page),
              ElementsAre("condition.unknown", "node.back", "node.rebooted", "node.lost"));
  EXPECT_EQ(page.events[0].text(), "a condition of a node can no longer be told");
}

// Viewers read the time line, and not the audit log.
TEST_F(TimelineTest, AddressesCommandsAndSecretsAreLeftOut) {
  Act(1, "secret.set", "munge_key", "version 2");
  Act(2, "token.create", "c001", "tok-1");
  Act(3, "web.login", "ann");
  Act(4, "exec.start", "c[001-002]", "x-1: cat /etc/shadow");
  Act(5, "node.key_copied", "c001", "10.9.9.9 shows certificate 5f", {"node:5f0c", "10.9.9.9"});
  const Page page = All();
  EXPECT_THAT(Kinds(page), ElementsAre("node.key_copied", "exec.start"));
  for (const v1::TimelineEvent& event : page.events) {
    EXPECT_THAT(event.ShortDebugString(), Not(HasSubstr("10.")));
    EXPECT_THAT(event.ShortDebugString(), Not(HasSubstr("shadow")));
  }
  EXPECT_EQ(page.events[0].actor(), "node");
}

TEST_F(TimelineTest, PagesHaveNeitherGapsNorRepeats) {
  for (int i = 0; i < 60; ++i) {
    Act(i, "node.drain", absl::StrCat("c", i), "x");
    // Those of a clock that was set back come in the order in which they were stored.
    Change(i % 7 == 0 ? i - 40 : i, absl::StrCat("n", i), "gpu_lost", v1::CONDITION_STATUS_BAD,
           absl::StrCat(i));
  }
  std::vector<std::string> whole, paged, forwards;
  for (const v1::TimelineEvent& event : All().events) whole.push_back(event.nodes());
  ASSERT_THAT(whole, SizeIs(120));
  v1::TimelinePosition place = End();
  Act(100, "node.drain", "later");  // while somebody turns pages
  Change(100, "later", "gpu_lost", v1::CONDITION_STATUS_BAD);
  for (bool is_last = false; !is_last;) {
    const Page page = Backwards({}, place, 7);
    for (const v1::TimelineEvent& event : page.events) paged.push_back(event.nodes());
    place = page.position;
    is_last = page.is_last;
  }
  EXPECT_EQ(paged, whole);
  place = {};
  for (bool is_last = false; !is_last;) {
    const Page page = Forwards({}, place, 5);
    for (const v1::TimelineEvent& event : page.events) {
      forwards.push_back(event.nodes());
      place = event.position();  // where a watcher goes on after a break
    }
    is_last = page.is_last;
  }
  EXPECT_THAT(forwards, SizeIs(122));
  EXPECT_EQ(std::set<std::string>(forwards.begin(), forwards.end()).size(), 121u) << "later: twice";
}

TEST_F(TimelineTest, NodesAndKindsAndAgesAreSelected) {
  ASSERT_OK(store_->Update([](Transaction& txn) -> absl::Status {
    RunRecord run;
    run.run_id = "r-1";
    RETURN_IF_ERROR(txn.runs().Put(run));
    RunNodeRecord node;
    node.run_id = "r-1";
    node.node = "c002";
    return txn.runs().PutNode(node);
  }));
  Act(1, "inventory.apply", "revision 2");
  Act(2, "run.create", "r-1");
  Act(3, "run.create", "r-2");
  Act(4, "node.drain", "c[001-003]");
  Act(5, "node.drain", "c[005-009]");
  Change(6, "c002", "gpu_lost", v1::CONDITION_STATUS_BAD);
  Change(7, "c003", "gpu_lost", v1::CONDITION_STATUS_BAD);
  EXPECT_THAT(Kinds(All({{"c002"}, {}})), ElementsAre("condition.bad", "node.drain", "run.create"));
  EXPECT_THAT(Kinds(All({{}, {"inventory", "run.create"}})),
              ElementsAre("run.create", "run.create", "inventory.apply"));
  EXPECT_THAT(Kinds(All({{"c002"}, {"node"}})), ElementsAre("node.drain"));
  EXPECT_THAT(Kinds(Backwards({}, End(), 10, At(5))),
              ElementsAre("condition.bad", "condition.bad", "node.drain"));
  EXPECT_THAT(Kinds(All({{"c004"}, {}})), IsEmpty());
}

TEST_F(TimelineTest, OneWrongTimeHidesNothingThatIsNewEnough) {
  Act(5, "run.create", "r-1");
  Act(6, "node.drain", "c001");
  Act(-100'000'000, "node.resume", "c001");  // the clock was wrong for a moment
  Act(7, "node.drain", "c002");
  Change(6, "c001", "gpu_lost", v1::CONDITION_STATUS_BAD);
  EXPECT_THAT(Kinds(Backwards({}, End(), 10, At(5))),
              ElementsAre("node.drain", "node.drain", "condition.bad", "run.create"));
  // Also where it is the first of a page.
  const Page first = Backwards({}, End(), 1, At(5));
  EXPECT_THAT(Kinds(first), ElementsAre("node.drain"));
  EXPECT_THAT(Kinds(Backwards({}, first.position, 10, At(5))),
              ElementsAre("node.drain", "condition.bad", "run.create"));
}

TEST_F(TimelineTest, EqualReportsAreOneEvent) {
  Change(1, "c001", "ib_port", v1::CONDITION_STATUS_BAD);
  Change(1, "c003", "ib_port", v1::CONDITION_STATUS_BAD);
  Change(1, "c002", "ib_port", v1::CONDITION_STATUS_BAD);
  Change(1, "c004", "ib_port", v1::CONDITION_STATUS_BAD, "other words");
  Change(2, "c005", "ib_port", v1::CONDITION_STATUS_BAD);
  const Page page = Forwards({}, {}, 10);
  ASSERT_THAT(page.events, SizeIs(3));
  EXPECT_EQ(page.events[0].nodes(), "c[001-003]");
  EXPECT_EQ(page.events[0].position().health(), 3u);
  EXPECT_EQ(page.events[1].nodes(), "c004");
  const Page first = Backwards({}, End(), 2);
  EXPECT_THAT(first.events, SizeIs(2));
  EXPECT_EQ(Backwards({}, first.position, 2).events[0].nodes(), "c[001-003]");
}

// A node that nothing has happened to must not have the whole history read in one call.
TEST_F(TimelineTest, OneCallReadsABoundedPart) {
  ASSERT_OK(store_->Update([](Transaction& txn) -> absl::Status {
    for (size_t i = 0; i < kMaxRead + 10; ++i)
      RETURN_IF_ERROR(txn.health().AppendEvent({0, At(1), "u", "c001", "gpu_lost", ""}));
    return absl::OkStatus();
  }));
  const Query query = {{"c002"}, {}};
  const Page page = Backwards(query, End(), 10);
  EXPECT_THAT(page.events, IsEmpty());
  EXPECT_FALSE(page.is_last);
  EXPECT_EQ(page.position.health(), 11u);
  EXPECT_TRUE(Backwards(query, page.position, 10).is_last);
}

TEST_F(TimelineTest, ADamagedHistoryIsAnError) {
  ASSERT_OK(store_->Update([](Transaction& txn) {
    return txn.health().AppendEvent({0, At(1), "u", "c001", "gpu_lost", "\xff\xff"});
  }));
  EXPECT_THAT(
      store_->View([&](Transaction& txn) { return ReadForwards(txn, {}, {}, 10).status(); }),
      StatusIs(absl::StatusCode::kDataLoss, Said()));
}

TEST(TimelineQuery, FiltersAreChecked) {
  v1::TimelineFilter filter;
  filter.set_nodes("c[003-001]");
  EXPECT_THAT(QueryOf(filter), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  filter.set_nodes("c[001-003]");
  filter.add_kinds("nothing.known");
  EXPECT_THAT(QueryOf(filter), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  filter.set_kinds(0, "node");
  EXPECT_THAT(QueryOf(filter)->nodes, SizeIs(3));
}

}  // namespace
}  // namespace muster::controller::timeline
