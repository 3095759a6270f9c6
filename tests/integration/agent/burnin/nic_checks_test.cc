// The network checks by the real program, in this test's own network namespaces.
#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/digest.h"
#include "common/sys/process/process.h"
#include "tests/fixtures/worker_process.h"

namespace muster {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;
using testing::WorkerProcess;
using Json = nlohmann::json;

// Two namespaces with a cable between them: 10.214.0.1 on m0 and 10.214.0.2 on m1.
class NicChecksTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "namespaces need root";
    for (const char* end : {"a", "b"}) names_.push_back(absl::StrCat("mtest", getpid(), end));
    if (!Do({"ip", "netns", "add", names_[0]})) GTEST_SKIP() << "no network namespaces here";
    ASSERT_TRUE(Do({"ip", "netns", "add", names_[1]}));
    ASSERT_TRUE(Do({"ip", "link", "add", "m0", "netns", names_[0], "type", "veth", "peer", "name",
                    "m1", "netns", names_[1]}));
    for (int end = 0; end < 2; ++end) {
      const std::string interface = absl::StrCat("m", end);
      ASSERT_TRUE(Do({"ip", "-n", names_[end], "addr", "add", absl::StrCat(Address(end), "/24"),
                      "dev", interface}));
      ASSERT_TRUE(Do({"ip", "-n", names_[end], "link", "set", interface, "up"}));
      ASSERT_TRUE(Do({"ip", "-n", names_[end], "link", "set", "lo", "up"}));
    }
    key_file_ = absl::StrCat(::testing::TempDir(), "/nic_checks_key_", getpid());
    std::ofstream(key_file_) << RandomBytes(32);
  }
  void TearDown() override {
    workers_.clear();
    for (const std::string& name : names_) Do({"ip", "netns", "del", name});
    if (!key_file_.empty()) unlink(key_file_.c_str());
  }

  static std::string Address(int end) { return absl::StrCat("10.214.0.", end + 1); }

  bool Do(std::vector<std::string> argv) {
    const auto done = processes_.Run({.argv = std::move(argv), .timeout = absl::Seconds(20)});
    return done.ok() && done->ok();
  }
  std::string Inside(int end, std::vector<std::string> argv) {
    argv.insert(argv.begin(), {"ip", "netns", "exec", names_[static_cast<size_t>(end)]});
    const auto done = processes_.Run({.argv = argv, .timeout = absl::Seconds(20)});
    return done.ok() ? done->out : "";
  }

  // Starts rank after rank, in the given namespaces, and brings them together.
  void Start(const std::string& check, const std::vector<int>& ends,
             const std::vector<std::string>& options) {
    const int ranks = static_cast<int>(ends.size());
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<std::string> argv = {
          "ip",          "netns",
          "exec",        names_[static_cast<size_t>(ends[static_cast<size_t>(rank)])],
          MUSTER_BURNIN, check,
          "--json"};
      if (ranks > 1)
        argv.insert(argv.end(), {"--rank", absl::StrCat(rank), "--ranks", absl::StrCat(ranks),
                                 "--key-file", key_file_});
      argv.insert(argv.end(), options.begin(), options.end());
      workers_.push_back(std::make_unique<WorkerProcess>(std::move(argv)));
    }
    if (ranks == 1) return;
    Json peers = Json::array();
    for (int rank = 0; rank < ranks; ++rank) {
      const auto progress = Worker(rank).Await("progress", "listening", std::chrono::seconds(30));
      ASSERT_TRUE(progress.has_value()) << "rank " << rank << " does not listen";
      peers.push_back({{"address", Address(ends[static_cast<size_t>(rank)])},
                       {"port", (*progress)["listening"]["port"]}});
    }
    for (int rank = 0; rank < ranks; ++rank) Worker(rank).Say({{"peers", peers}});
  }
  WorkerProcess& Worker(int rank) { return *workers_[static_cast<size_t>(rank)]; }

  // Listening sockets, from /proc/net/tcp.
  int Listening(int end) {
    int count = 0;
    for (const absl::string_view line :
         absl::StrSplit(Inside(end, {"cat", "/proc/net/tcp", "/proc/net/tcp6"}), '\n')) {
      const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
      if (words.size() > 3 && words[3] == "0A") ++count;
    }
    return count;
  }

  std::vector<std::string> names_;
  sys::RealProcessRunner processes_;
  std::string key_file_;
  std::vector<std::unique_ptr<WorkerProcess>> workers_;
};

double MetricOf(const Json& result, const std::string& name) {
  for (const Json& metric : result["metrics"])
    if (metric["name"] == name) return metric["value"];
  return -1;
}

bool HasFault(const Json& result, const std::string& code) {
  for (const Json& fault : result["faults"])
    if (fault["code"] == code) return true;
  return false;
}

const std::vector<std::string> kQuick = {"--duration",         "1s",    "--warmup",  "300ms",
                                         "--latency-duration", "300ms", "--streams", "2"};

TEST_F(NicChecksTest, PairMeasuresTheRateOfASlowLinkAndLeavesNoPort) {
  for (int end = 0; end < 2; ++end)
    ASSERT_TRUE(Do({"tc", "-n", names_[static_cast<size_t>(end)], "qdisc", "add", "dev",
                    absl::StrCat("m", end), "root", "tbf", "rate", "100mbit", "burst", "32kb",
                    "latency", "20ms"}));
  Start("nic-pair", {0, 1}, kQuick);
  for (int rank = 0; rank < 2; ++rank) {
    const auto result = Worker(rank).Result();
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ((*result)["outcome"], "OUTCOME_PASS") << (*result)["reason"];
    // 1448 of 1514 bytes are payload. On a busy machine much less gets through in a second, or more
    // than the link carries: what the warm-up has left in the receiver's socket.
    for (const char* metric : {"send_gbits", "receive_gbits", "duplex_receive_gbits"})
      EXPECT_THAT(MetricOf(*result, metric), AllOf(Ge(0.01), Le(0.15))) << metric;
    EXPECT_EQ(MetricOf(*result, "path_mtu"), 1500);
    EXPECT_EQ((*result)["subjects"][0]["id"], absl::StrCat("m", rank));
  }
  workers_.clear();
  EXPECT_EQ(Listening(0) + Listening(1), 0);
}

TEST_F(NicChecksTest, PairFailsWhenTheLinkGoesDown) {
  Start("nic-pair", {0, 1}, {"--duration", "20s"});
  ASSERT_TRUE(Worker(0).AwaitPhase("to the partner"));
  ASSERT_TRUE(Do({"ip", "-n", names_[0], "link", "set", "m0", "down"}));
  for (int rank = 0; rank < 2; ++rank) {
    const auto result = Worker(rank).Result(std::chrono::seconds(25));
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ((*result)["outcome"], "OUTCOME_FAIL") << (*result)["reason"];
    EXPECT_TRUE(HasFault(*result, "link_down"));
    EXPECT_THAT((*result)["reason"].get<std::string>(), HasSubstr(absl::StrCat("m", rank)));
  }
}

TEST_F(NicChecksTest, PairIsUnknownWhenThePartnerDies) {
  Start("nic-pair", {0, 1}, {"--duration", "20s"});
  ASSERT_TRUE(Worker(0).AwaitPhase("to the partner"));
  Worker(1).Kill();
  const auto result = Worker(0).Result(std::chrono::seconds(20));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ((*result)["outcome"], "OUTCOME_UNKNOWN");
  EXPECT_THAT((*result)["reason"].get<std::string>(),
              AllOf(HasSubstr("partner lost"), HasSubstr(Address(1))));
}

TEST_F(NicChecksTest, CollectiveNamesTheRankThatDied) {
  Start("collective", {0, 1, 0, 1}, {"--iterations", "10000", "--elements", "4000000"});
  ASSERT_TRUE(Worker(0).AwaitPhase("all-reduce"));
  Worker(2).Kill();
  for (const int rank : {0, 1, 3}) {
    const auto result = Worker(rank).Result(std::chrono::seconds(40));
    ASSERT_TRUE(result.has_value()) << rank;
    EXPECT_EQ((*result)["outcome"], "OUTCOME_UNKNOWN");
    EXPECT_THAT((*result)["reason"].get<std::string>(), HasSubstr("partner lost: rank 2"))
        << "said rank " << rank;
  }
}

TEST_F(NicChecksTest, LinkFailsWhenItFlapsAndPassesWhenItHolds) {
  Start("nic-link", {0}, {"--interfaces", "m0", "--mtu", "1500", "--duration", "1s"});
  const auto good = Worker(0).Result();
  ASSERT_TRUE(good.has_value());
  EXPECT_EQ((*good)["outcome"], "OUTCOME_PASS") << (*good)["reason"];
  workers_.clear();
  Start("nic-link", {0}, {"--interfaces", "m0", "--mtu", "9000", "--duration", "3s"});
  ASSERT_TRUE(Worker(0).AwaitPhase("watching"));
  ASSERT_TRUE(Do({"ip", "-n", names_[1], "link", "set", "m1", "down"}));
  ASSERT_TRUE(Do({"ip", "-n", names_[1], "link", "set", "m1", "up"}));
  const auto bad = Worker(0).Result();
  ASSERT_TRUE(bad.has_value());
  EXPECT_EQ((*bad)["outcome"], "OUTCOME_FAIL");
  EXPECT_TRUE(HasFault(*bad, "link_flapped"));
  EXPECT_TRUE(HasFault(*bad, "wrong_mtu"));
}

}  // namespace
}  // namespace muster
