#include "cli/render/report/bundle_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/proto_time.h"
#include "muster/v1/artifact.pb.h"

namespace muster::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const absl::Time kBundleNow = absl::FromUnixSeconds(1'900'000'000);

v1::Bundle Approved() {
  v1::Bundle bundle;
  bundle.set_sha256("0123456789abcdef");
  bundle.set_size(41'000);
  bundle.set_uploaded_by("operator:eve");
  *bundle.mutable_uploaded_at() = ToTimestamp(kBundleNow - absl::Minutes(5));
  v1::BundleApproval& approval = *bundle.add_approvals();
  approval.set_path("playbooks/site.yaml");
  approval.set_run_id("r-1");
  approval.set_approved_by("admin:alice");
  *approval.mutable_approved_at() = ToTimestamp(kBundleNow - absl::Minutes(1));
  return bundle;
}

TEST(BundleReport, SaysWhatOperatorsMayRun) {
  v1::Bundle bundle = Approved();
  EXPECT_EQ(WhatOperatorsMayRun(bundle), "playbooks/site.yaml");
  v1::BundleApproval& all = *bundle.add_approvals();
  all.add_variables("ntp");
  all.add_variables("dns");
  EXPECT_EQ(WhatOperatorsMayRun(bundle), "playbooks/site.yaml; all of it, -e ntp dns");
  for (v1::BundleApproval& each : *bundle.mutable_approvals()) {
    each.set_revoked_by("admin:bob");
    *each.mutable_revoked_at() = ToTimestamp(kBundleNow);
  }
  EXPECT_EQ(WhatOperatorsMayRun(bundle), "nothing, revoked by admin:bob");
  EXPECT_EQ(WhatOperatorsMayRun(v1::Bundle()), "nothing");
  v1::ListBundlesResponse list;
  *list.add_bundles() = Approved();
  EXPECT_EQ(RenderBundles(list, kBundleNow),
            "BUNDLE        SIZE   UPLOADED    BY            OPERATORS MAY RUN\n"
            "0123456789ab  41 kB  5m 00s ago  operator:eve  playbooks/site.yaml\n");
}

TEST(BundleReport, ShowsWhatAReviewerHasToReadAndNothingThatSteersTheTerminal) {
  v1::GetBundleResponse response;
  *response.mutable_bundle() = Approved();
  response.set_against("fedcba9876543210");
  const auto add = [&](const char* path, v1::FileChange change) {
    v1::BundleFile& file = *response.add_files();
    file.set_path(path);
    file.set_size(12);
    file.set_change(change);
  };
  add("playbooks/a.yaml", v1::FILE_CHANGE_ADDED);
  add("playbooks/b\033[2K.yaml", v1::FILE_CHANGE_CHANGED);
  add("playbooks/c.yaml", v1::FILE_CHANGE_REMOVED);
  add("playbooks/e\n+ fake", v1::FILE_CHANGE_ADDED);
  add("playbooks/d.yaml", v1::FILE_CHANGE_SAME);
  response.set_diff("-old\n+evil\r+good\033[1A\n");
  const std::string text = RenderBundle(response, kBundleNow);
  EXPECT_THAT(text, HasSubstr("against   fedcba987654\n"));
  EXPECT_THAT(text, HasSubstr("playbooks/site.yaml: r-1 of admin:alice 1m 00s ago"));
  EXPECT_THAT(text, HasSubstr("+ playbooks/a.yaml  12 B\n"));
  EXPECT_THAT(text, HasSubstr("~ playbooks/b.yaml  12 B\n"));
  EXPECT_THAT(
      text,
      HasSubstr("- playbooks/c.yaml  12 B\n+ playbooks/e + fake  12 B\n1 file is the same\n"));
  EXPECT_THAT(text, HasSubstr("\n-old\n+evil\n+good\n"));
  EXPECT_THAT(text, Not(HasSubstr("playbooks/d.yaml")));
  response.clear_against();
  EXPECT_THAT(RenderBundle(response, kBundleNow), HasSubstr("  playbooks/d.yaml  12 B\n"));
}

}  // namespace
}  // namespace muster::cli
