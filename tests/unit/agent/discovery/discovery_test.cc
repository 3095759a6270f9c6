#include "agent/discovery/discovery.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "agent/facts/gather.h"
#include "common/base/clock.h"
#include "common/sys/file_system.h"
#include "common/sys/http/http_client.h"
#include "muster/v1/facts.pb.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/servers/http_server.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class DiscoveryTest : public ::testing::Test {
 protected:
  Discovery Open(const std::string& path = "/discovery") {
    return Discovery({.http = http_,
                      .files = files_,
                      .clock = clock_,
                      .facts = gatherer_,
                      .scratch = dir_.path() + "/answer",
                      .say = [this](absl::string_view line) { said_.emplace_back(line); }},
                     server_.Url(path));
  }

  testing::HttpServer server_;
  const testing::TempDir dir_;
  sys::CurlHttpClient http_;
  sys::RealFileSystem files_;
  testing::FakeClock clock_;
  RealClock real_clock_;  // probes run in threads of their own
  FactsGatherer gatherer_{{},
                          {{"machine",
                            [](const ProbeContext&, v1::Facts& facts) {
                              facts.mutable_machine()->set_serial("S1");
                              facts.mutable_packages()->set_count(1200);
                              return absl::OkStatus();
                            },
                            /*in_root=*/false}},
                          real_clock_};
  std::vector<std::string> said_;
};

TEST_F(DiscoveryTest, TellsWhatTheMachineIsAndNothingOfItsSystem) {
  server_.Handle("/discovery", [](const testing::HttpRequest&) {
    return testing::HttpReply{.body = "waiting\n"};
  });
  const absl::StatusOr<bool> told = Open().Tell();
  ASSERT_OK(told);
  EXPECT_FALSE(*told);
  ASSERT_THAT(server_.requests(), SizeIs(1));
  EXPECT_EQ(server_.requests()[0].method, "POST");
  v1::Facts facts;
  ASSERT_TRUE(facts.ParseFromString(server_.requests()[0].body));
  EXPECT_EQ(facts.machine().serial(), "S1");
  EXPECT_FALSE(facts.has_packages());
}

TEST_F(DiscoveryTest, AsksUntilItIsANode) {
  int asked = 0;
  server_.Handle("/discovery", [&asked](const testing::HttpRequest&) {
    ++asked;
    if (asked == 2 || asked == 3)
      return testing::HttpReply{.status = 503, .body = "the controller is stopping\n"};
    return testing::HttpReply{.body = asked < 5 ? "waiting\n" : "adopted\n"};
  });
  const absl::Time begin = clock_.Now();
  Open().UntilAdopted();
  EXPECT_EQ(asked, 5);
  EXPECT_EQ(clock_.Now() - begin, 4 * Discovery::kInterval);
  // Each news once.
  EXPECT_THAT(said_, ElementsAre(HasSubstr("waits to be adopted"), HasSubstr("503"),
                                 HasSubstr("waits to be adopted")));
}

TEST_F(DiscoveryTest, OfAThousandDisksTheFirstAreTold) {
  server_.Handle("/discovery", [](const testing::HttpRequest&) {
    return testing::HttpReply{.body = "waiting\n"};
  });
  FactsGatherer many({},
                     {{"disks",
                       [](const ProbeContext&, v1::Facts& facts) {
                         for (int i = 0; i < 1000; ++i) {
                           facts.add_disks()->set_name(absl::StrCat("sd", i));
                           facts.mutable_disks(i)->set_model("a disk of an enclosure, by one path");
                         }
                         return absl::OkStatus();
                       },
                       /*in_root=*/false}},
                     real_clock_);
  Discovery discovery({.http = http_,
                       .files = files_,
                       .clock = clock_,
                       .facts = many,
                       .scratch = dir_.path() + "/answer",
                       .say = [](absl::string_view) {}},
                      server_.Url("/discovery"));
  ASSERT_OK(discovery.Tell());
  EXPECT_LT(server_.requests()[0].body.size(), 32u << 10);
  v1::Facts facts;
  ASSERT_TRUE(facts.ParseFromString(server_.requests()[0].body));
  EXPECT_GT(facts.disks_size(), 100);
}

TEST_F(DiscoveryTest, AServerThatDoesNotKnowOfItIsAnError) {
  EXPECT_FALSE(Open("/elsewhere").Tell().ok());
}

}  // namespace
}  // namespace muster::agent
