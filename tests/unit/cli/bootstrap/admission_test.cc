#include "cli/bootstrap/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::cli {
namespace {

using ::testing::HasSubstr;

const std::map<std::string, std::string> kSite = {
    {"inventory/hardware/t4.yaml", "admits: true\n"},
    {"playbooks/suites/acceptance.yaml", "name: acceptance\nadmits: true\n"},
    {"playbooks/suites/broken.yaml", "name: [\n"},
    {"playbooks/suites/burnin.yaml", "name: burnin\nadmits: true\n"},
    {"playbooks/suites/quick.yaml", "name: quick\n"},
    {"playbooks/suites/shy.yaml", "name: shy\nadmits: false\n"},
};

TEST(AdmissionHint, APassThatDoesNotAdmitNamesTheSuitesThatWould) {
  EXPECT_EQ(AdmissionHint(kSite, "quick", "c[001-002]"),
            "suite quick does not admit nodes: passing it does not let a node take jobs. "
            "acceptance, burnin do: muster validate 'c[001-002]' --suite acceptance\n");
  EXPECT_THAT(AdmissionHint(kSite, "shy", "c001"), HasSubstr("suite shy does not admit"));
  EXPECT_EQ(AdmissionHint(kSite, "acceptance", "c001"), "");
  EXPECT_EQ(AdmissionHint(kSite, "broken", "c001"), "");
  EXPECT_THAT(AdmissionHint({{"playbooks/suites/quick.yaml", "name: quick\n"}}, "quick", "c001"),
              HasSubstr("no other suite of the site does"));
}

}  // namespace
}  // namespace muster::cli
