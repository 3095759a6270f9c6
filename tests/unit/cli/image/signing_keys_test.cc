#include "cli/image/signing_keys.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/sys/process/process.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::cli {
namespace {

using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Firmware may trust it, and nothing brings it back.
TEST(SigningKeysTest, AKeyWhoseCertificateIsMissingIsNotReplaced) {
  const muster::testing::TempDir temp;
  const std::string key = temp.path() + "/db.key";
  std::ofstream(key) << "mine";
  sys::RealProcessRunner processes;
  EXPECT_THAT(MakeSigningKeys({.folder = temp.path(), .loader = "", .trusted = {}}, processes,
                              [](absl::string_view line) { ADD_FAILURE() << line; }),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("db.key is there"), HasSubstr("db.der is not"))));
  EXPECT_EQ(std::filesystem::file_size(key), 4u);
  EXPECT_FALSE(std::filesystem::exists(temp.path() + "/PK.key"));
}

}  // namespace
}  // namespace muster::cli
