#include "controller/config.h"
#include "tests/fixtures/golden_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kLeast[] = "cluster: alpha\ncontroller_address: login1:7443\n";

TEST(Config, LeastIsAClusterAndAnAddress) {
  const Config config = ParseConfig("controller.yaml", kLeast).value();
  EXPECT_EQ(config.cluster, "alpha");
  EXPECT_EQ(config.enrollment_address, "login1:7444");
  EXPECT_EQ(config.listen, "0.0.0.0:7443");
  EXPECT_EQ(config.state_directory, "/var/lib/muster-controller");
  EXPECT_EQ(config.operator_bundles, "approved");
  EXPECT_EQ(config.secret_readers, "named");
  EXPECT_EQ(config.exec, "off");
}

TEST(Config, ReadsEachKey) {
  const Config config =
      ParseConfig(
          "controller.yaml",
          std::string(kLeast) +
              "enrollment_address: \"[::1]:1\"\nlisten: \"[::]:2\"\n"
              "enrollment_listen: 10.0.0.1:3\npackage_listen: a:4\nmetrics_listen: \"off\"\n"
              "web_listen: 0.0.0.0:5\nweb_address: b:443\nweb_certificate: /c\nweb_key: /k\n"
              "pki_directory: /p\nstate_directory: /s\n"
              "package_directory: /d\nsnapshot_gib: 50\nimage_gib: 70\nbackup_hours: "
              "12\nslurm_gate: \"on\"\n"
              "operator_bundles: any\nsecret_readers: any\nexec: \"on\"\n")
          .value();
  EXPECT_EQ(config.enrollment_address, "[::1]:1");
  EXPECT_EQ(HostOf(config.enrollment_address), "[::1]");
  EXPECT_EQ(config.listen, "[::]:2");
  EXPECT_EQ(config.enrollment_listen, "10.0.0.1:3");
  EXPECT_EQ(config.package_listen, "a:4");
  EXPECT_EQ(config.metrics_listen, "off");
  EXPECT_EQ(config.web_listen, "0.0.0.0:5");
  EXPECT_EQ(config.web_address, "b:443");
  EXPECT_EQ(config.web_certificate, "/c");
  EXPECT_EQ(config.web_key, "/k");
  EXPECT_EQ(config.pki_directory, "/p");
  EXPECT_EQ(config.state_directory, "/s");
  EXPECT_EQ(config.package_directory, "/d");
  EXPECT_EQ(config.snapshot_gib, "50");
  EXPECT_EQ(config.image_gib, "70");
  EXPECT_EQ(config.backup_hours, "12");
  EXPECT_EQ(config.slurm_gate, "on");
  EXPECT_EQ(config.operator_bundles, "any");
  EXPECT_EQ(config.secret_readers, "any");
  EXPECT_EQ(config.exec, "on");
}

TEST(Config, ErrorsNameThePlace) {
  EXPECT_THAT(ParseConfig("controller.yaml", std::string(kLeast) + "lisen: 0.0.0.0:1\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(ParseConfig("controller.yaml", std::string(kLeast) + "listen: everywhere\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(ParseConfig("controller.yaml", std::string(kLeast) + "listen: 0.0.0.0:70000\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(ParseConfig("controller.yaml", std::string(kLeast) + "metrics_listen: here\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(ParseConfig("controller.yaml", std::string(kLeast) + "slurm_gate: maybe\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  for (const char* key : {"operator_bundles", "secret_readers", "exec"}) {
    EXPECT_THAT(ParseConfig("controller.yaml", absl::StrCat(kLeast, key, ": none\n")),
                StatusIs(absl::StatusCode::kInvalidArgument, AllOf(Said(), HasSubstr(key))));
  }
  EXPECT_THAT(ParseConfig("controller.yaml", std::string(kLeast) + "web_certificate: /c\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(ParseConfig("controller.yaml", std::string(kLeast) + "web_key: /k\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(ParseConfig("controller.yaml", "cluster: alpha\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(ParseConfig("controller.yaml", std::string(kLeast) + "snapshot_gib: 1.5\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(ParseConfig("controller.yaml", std::string(kLeast) + "image_gib: -1\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(ParseConfig("controller.yaml", std::string(kLeast) + "backup_hours: soon\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("whole number of hours")));
  EXPECT_THAT(LoadConfig("/nonexistent/controller.yaml"),
              StatusIs(absl::StatusCode::kNotFound, Said()));
}

}  // namespace
}  // namespace muster::controller
