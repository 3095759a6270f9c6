#include "controller/run/plan/values_of_facts.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "common/base/status.h"
#include "common/value/folded_value.h"
#include "muster/v1/facts.pb.h"
#include "tests/unit/controller/run/run_fixture.h"

namespace muster::controller {
namespace {

using ::testing::SizeIs;

class KeptFactsTest : public RunFixture {
 protected:
  void Say(const std::string& name, const std::string& hostname) {
    v1::Facts facts;
    facts.mutable_os()->set_hostname(hostname);
    SayBytes(name, facts.SerializeAsString());
  }
  void SayBytes(const std::string& name, const std::string& bytes) {
    ASSERT_OK(
        store_->Update([&](Transaction& txn) { return txn.nodes().PutFacts("u" + name, bytes); }));
  }
  std::unique_ptr<KeptFacts::Values> Take() {
    absl::StatusOr<std::unique_ptr<KeptFacts::Values>> values = kept_.Take(*store_);
    EXPECT_OK(values);
    return values.ok() ? *std::move(values) : nullptr;
  }
  static std::string HostnameOf(const KeptFacts::Values& values, const std::string& name) {
    return UnfoldAll(values.facts.at(name))["os"]["hostname"].get<std::string>();
  }

  KeptFacts kept_;
};

TEST_F(KeptFactsTest, AreThoseOfNow) {
  Enroll("a");
  Enroll("b");
  Say("a", "a1");
  Say("b", "b1");
  std::unique_ptr<KeptFacts::Values> values = Take();
  EXPECT_EQ(HostnameOf(*values, "a"), "a1");
  EXPECT_EQ(HostnameOf(*values, "b"), "b1");
  kept_.GiveBack(std::move(values));

  Say("b", "b2");
  Enroll("c");
  Say("c", "c1");
  values = Take();
  EXPECT_EQ(HostnameOf(*values, "a"), "a1");
  EXPECT_EQ(HostnameOf(*values, "b"), "b2");
  EXPECT_EQ(HostnameOf(*values, "c"), "c1");
  kept_.GiveBack(std::move(values));

  // Facts that nobody can read are none, and neither are those of a node that left.
  SayBytes("b", "\xff");
  ASSERT_OK(store_->Update([](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(NodeRecord node, txn.nodes().Get("uc"));
    node.state = NodeRecord::kRemoved;
    return txn.nodes().Put(node);
  }));
  EXPECT_THAT(Take()->facts, SizeIs(1));
}

TEST_F(KeptFactsTest, UnchangedOnesAreNotMadeAgain) {
  Enroll("a");
  Say("a", "a1");
  std::unique_ptr<KeptFacts::Values> values = Take();
  values->facts["a"] = "as it was made";
  kept_.GiveBack(std::move(values));
  EXPECT_EQ(Take()->facts.at("a"), "as it was made");

  // A caller that asks while another has them gets its own, and so does one after Forget().
  EXPECT_EQ(HostnameOf(*Take(), "a"), "a1");
  values = Take();
  values->facts["a"] = "as it was made";
  kept_.GiveBack(std::move(values));
  kept_.Forget();
  EXPECT_EQ(HostnameOf(*Take(), "a"), "a1");
}

}  // namespace
}  // namespace muster::controller
