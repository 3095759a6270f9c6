#include "cli/render/validation/validation_page.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "muster/v1/validation.pb.h"

namespace muster::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

v1::Validation TwoNodes() {
  v1::Validation validation;
  validation.set_validation_id("v-7k2m");
  validation.set_suite("acceptance");
  validation.set_created_by("admin:alice");
  for (const char* name : {"c001", "c002"}) {
    v1::NodeVerdict& node = *validation.add_nodes();
    node.set_node(name);
    node.set_outcome(v1::OUTCOME_PASS);
  }
  v1::NodeVerdict& bad = *validation.mutable_nodes(1);
  bad.set_outcome(v1::OUTCOME_FAIL);
  bad.set_service("drained by muster");
  v1::CheckVerdict& check = *bad.add_checks();
  check.set_check("gpu-gemm");
  check.set_outcome(v1::OUTCOME_FAIL);
  check.set_reason("3 results differ");
  v1::Finding& finding = *check.add_findings();
  finding.set_outcome(v1::OUTCOME_FAIL);
  finding.set_metric("tflops_median");
  finding.set_variant("fp16");
  finding.set_subject("GPU-1");
  finding.set_slot("0000:3b:00.0");
  finding.set_value(31.5);
  finding.set_floor(45);
  finding.set_unit("TFLOPS");
  finding.set_source("inventory/hardware/rtx_2080_ti.yaml:12");
  return validation;
}

v1::NodeCheckResult Curve(const std::string& node) {
  v1::NodeCheckResult result;
  result.set_node(node);
  result.mutable_result()->set_check("gpu-gemm");
  for (int at = 0; at < 10; ++at) {
    v1::Sample& sample = *result.mutable_result()->add_samples();
    sample.set_at_s(at);
    sample.set_subject("GPU-1");
    sample.set_metric("temperature_celsius");
    sample.set_value(60 + at);
  }
  return result;
}

TEST(ValidationPageTest, SaysWhatFailedAgainstWhichLimit) {
  const std::string page = RenderValidationPage(TwoNodes(), {}, absl::UTCTimeZone());
  for (const char* text :
       {"Suite acceptance: 1 pass, 1 fail", "drained by muster", "gpu-gemm: 3 results differ",
        "tflops median, fp16", "GPU-1 0000:3b:00.0", "31.5 TFLOPS", "45 TFLOPS",
        "inventory/hardware/rtx_2080_ti.yaml:12"})
    EXPECT_THAT(page, HasSubstr(text));
}

TEST(ValidationPageTest, SetsTheRingBesideItsPairs) {
  v1::Validation validation = TwoNodes();
  EXPECT_THAT(RenderValidationPage(validation, {}, absl::UTCTimeZone()),
              Not(HasSubstr("The ring compared with its pairs")));
  v1::RingOutlook& ring = *validation.add_rings();
  ring.set_check("collective");
  ring.set_message("86 % of the slowest pair, from <c003>");
  v1::RingForecast& forecast = *ring.add_forecasts();
  forecast.set_nodes(4);
  forecast.set_ring_ms(170.5);
  forecast.set_pairs_best(0.95);
  const std::string page = RenderValidationPage(validation, {}, absl::UTCTimeZone());
  for (const char* text :
       {"The ring compared with its pairs", "86 % of the slowest pair, from &lt;c003", "170.5 ms",
        "0.0 % to 95.0 %"})
    EXPECT_THAT(page, HasSubstr(text));
}

TEST(ValidationPageTest, AWitnessIsNamedAndNotCounted) {
  v1::Validation validation = TwoNodes();
  v1::NodeVerdict& witness = *validation.add_nodes();
  witness.set_node("c003");
  witness.set_is_witness(true);
  const std::string page = RenderValidationPage(validation, {}, absl::UTCTimeZone());
  EXPECT_THAT(page, HasSubstr("Suite acceptance: 1 pass, 1 fail<"));
  EXPECT_THAT(page, HasSubstr("not under test: borrowed as a partner"));
}

TEST(ValidationPageTest, TextOfNodesStaysText) {
  v1::Validation validation = TwoNodes();
  validation.mutable_nodes(1)->mutable_checks(0)->set_reason("<script>alert(1)</script>");
  v1::NodeCheckResult result = Curve("c002");
  result.mutable_result()->mutable_samples(0)->set_subject("</svg><script>");
  EXPECT_THAT(RenderValidationPage(validation, {result}, absl::UTCTimeZone()),
              Not(HasSubstr("<script")));
}

TEST(ValidationPageTest, CurvesOfABigClusterAreThoseOfTheNodesThatDidNotPass) {
  v1::Validation validation;
  std::vector<v1::NodeCheckResult> results;
  for (int n = 0; n < 100; ++n) {
    v1::NodeVerdict& node = *validation.add_nodes();
    node.set_node(absl::StrCat("c", n));
    node.set_outcome(n == 99 ? v1::OUTCOME_UNKNOWN : v1::OUTCOME_PASS);
    results.push_back(Curve(node.node()));
  }
  const std::string page = RenderValidationPage(validation, results, absl::UTCTimeZone());
  EXPECT_EQ(std::vector<std::string>(absl::StrSplit(page, "<polyline")).size() - 1,
            kMaxNodesWithCurves);
  EXPECT_THAT(page, HasSubstr("<h3>c99</h3>"));
  EXPECT_THAT(page, HasSubstr("Curves of 32 of 100 nodes"));
}

#ifndef MUSTER_SANITIZED  // sanitizers keep freed memory
// Limits the process to this many further bytes.
class MemoryLimit {
 public:
  explicit MemoryLimit(rlim_t more) {
    ::getrlimit(RLIMIT_AS, &before_);
    std::ifstream statm("/proc/self/statm");
    rlim_t pages = 0;
    statm >> pages;
    rlimit limit = before_;
    limit.rlim_cur = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + more;
    ::setrlimit(RLIMIT_AS, &limit);
  }
  ~MemoryLimit() { ::setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_ = {};
};

TEST(ValidationPageTest, TenThousandNodesFitIntoMemory) {
  constexpr int kNodes = 10'000;
  constexpr int kRounds = 4;
  v1::Validation validation;
  for (int n = 0; n < kNodes; ++n) {
    v1::NodeVerdict& node = *validation.add_nodes();
    node.set_node(absl::StrCat("c", n));
    node.set_outcome(v1::OUTCOME_PASS);
  }
  // A matrix of doubles of 10,000 × 10,000 would be 800 MB.
  const MemoryLimit limit(256 << 20);
  ValidationPage page(validation);
  for (int n = 0; n < kNodes; ++n) {
    for (int round = 0; round < kRounds; ++round) {
      v1::NodeCheckResult pair;
      pair.set_node(absl::StrCat("c", n));
      pair.set_partner(absl::StrCat("c", (n + 1 + round * 2'000) % kNodes));
      pair.mutable_result()->set_check("nic-pair");
      for (const char* name : {"receive_gbits", "send_gbits", "round_trip_p50"}) {
        v1::Metric& metric = *pair.mutable_result()->add_metrics();
        metric.set_name(name);
        metric.set_value(n == 4'242 && round == 0 ? 1 : 9.4);
        metric.set_unit("Gbit/s");
      }
      page.Take(pair);
    }
  }
  const std::string text = page.Render(absl::UTCTimeZone());
  // 79 names per cell; 4242 + 1 is in the same one.
  EXPECT_THAT(text, HasSubstr("c4187–c4265 → c4187–c4265: 1 Gbit/s"));
  EXPECT_LT(text.size(), 16u << 20);
}
#endif

}  // namespace
}  // namespace muster::cli
