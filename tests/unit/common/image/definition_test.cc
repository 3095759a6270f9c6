#include "common/image/definition.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/image/distribution.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::image {
namespace {

using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kLeast[] = "kind: ram\ndistribution: debian12\nkernel: linux-image-amd64\n";

absl::StatusOr<Definition> Parse(const std::string& text) {
  return ParseDefinition("worker", "images/worker/image.yaml", text);
}

TEST(Definition, TheLeastIsEnough) {
  const auto definition = Parse(kLeast);
  ASSERT_OK(definition);
  EXPECT_EQ(definition->name, "worker");
  EXPECT_EQ(definition->distribution, "debian12");
  EXPECT_EQ(definition->kernel, "linux-image-amd64");
  EXPECT_TRUE(definition->roles.empty());
  EXPECT_TRUE(definition->variables.IsNull());
}

TEST(Definition, EverythingIsRead) {
  const auto definition = Parse(absl::StrCat(kLeast, R"(
description: a worker
snapshot: "2026-11-26"
packages: [busybox, libc6:amd64, "chrony=4.3-2"]
files: [ram-boot, worker/files]
roles: [base, slurm_worker]
groups: gpu
variables: {answer: 42}
kernel_arguments: ["console=ttyS0,115200"]
leave_out: [/usr/share/man/*]
)"));
  ASSERT_OK(definition);
  EXPECT_EQ(definition->snapshot, "2026-11-26");
  EXPECT_THAT(definition->packages, ElementsAre("busybox", "libc6:amd64", "chrony=4.3-2"));
  ASSERT_EQ(definition->files.size(), 2u);
  EXPECT_EQ(definition->files[1].text, "worker/files");
  ASSERT_EQ(definition->roles.size(), 2u);
  EXPECT_EQ(definition->roles[1].text, "slurm_worker");
  ASSERT_EQ(definition->groups.size(), 1u);
  EXPECT_EQ(definition->groups[0].text, "gpu");
  EXPECT_EQ(definition->variables.Find("answer")->text(), "42");
  EXPECT_THAT(definition->kernel_arguments, ElementsAre("console=ttyS0,115200"));
  EXPECT_THAT(definition->leave_out, ElementsAre("/usr/share/man/*"));
}

struct BadCase {
  const char* text;
  const char* place;  // "4:1"
};

class BadDefinition : public ::testing::TestWithParam<BadCase> {};

TEST_P(BadDefinition, IsRefusedWhereItIsWrong) {
  const absl::Status status = Parse(GetParam().text).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              StartsWith(absl::StrCat("images/worker/image.yaml:", GetParam().place, ": ")));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadDefinition,
    ::testing::Values(
        BadCase{"kind: ram\nkernel: k\n", "1:1"},
        BadCase{"kind: tape\ndistribution: debian12\nkernel: k\n", "1:7"},
        BadCase{"kind: ram\ndistribution: plan9\nkernel: k\n", "2:15"},
        BadCase{"kind: disk\ndistribution: ubuntu22.04\nkernel: k\n", "1:7"},
        BadCase{"kind: ram\ndistribution: debian12\nkernel: --hook\n", "3:9"},
        BadCase{"kind: ram\ndistribution: debian12\nkernel: k\nsnapshot: ../etc\n", "4:11"},
        BadCase{"kind: ram\ndistribution: debian12\nkernel: k\npackages: [a, --force]\n", "4:15"},
        BadCase{"kind: ram\ndistribution: debian12\nkernel: k\npackages: [a, 'b c']\n", "4:15"},
        BadCase{"kind: ram\ndistribution: debian12\nkernel: k\nroles: [base, base]\n", "4:15"},
        BadCase{"kind: ram\ndistribution: debian12\nkernel: k\nroles: [../base]\n", "4:9"},
        BadCase{"kind: ram\ndistribution: debian12\nkernel: k\nfiles: [../secret]\n", "4:9"},
        BadCase{"kind: ram\ndistribution: debian12\nkernel: k\nfiles: [/etc]\n", "4:9"},
        BadCase{"kind: ram\ndistribution: debian12\nkernel: k\nvariables: [1]\n", "4:12"},
        BadCase{"kind: ram\ndistribution: debian12\nkernel: k\nkernel_arguments: ['a b']\n",
                "4:20"},
        BadCase{"kind: ram\ndistribution: debian12\nkernel: k\nleave_out: [usr]\n", "4:13"},
        BadCase{"kind: ram\ndistribution: debian12\nkernel: k\nleave_out: ['/a/../b']\n", "4:13"},
        BadCase{"kind: ram\ndistribution: debian12\nkernel: k\npackage: [a]\n", "4:1"},
        BadCase{"- kind: ram\n", "1:1"}));

TEST(Distribution, Ubuntu2204IsForUnsignedImagesInMemoryAlone) {
  EXPECT_OK(Parse("kind: ram\ndistribution: ubuntu22.04\nkernel: k\n"));
  EXPECT_OK(Parse("kind: disk\ndistribution: ubuntu24.04\nkernel: k\n"));
  EXPECT_THAT(CheckSigningOf("ubuntu22.04"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("of ubuntu24.04")));
  for (const char* good : {"debian12", "debian13", "ubuntu24.04", "of a later version"})
    EXPECT_OK(CheckSigningOf(good));
}

TEST(ImageName, HasNoWayOut) {
  for (const char* good : {"debian-worker", "a", "Rocky9.4_gpu"}) EXPECT_TRUE(IsImageName(good));
  for (const char* bad : {"", "..", ".hidden", "a/b", "-x", "a b", "a\n"})
    EXPECT_FALSE(IsImageName(bad)) << bad;
  EXPECT_FALSE(IsImageName(std::string(65, 'a')));
  EXPECT_FALSE(ParseDefinition("../x", "p", kLeast).ok());
}

}  // namespace
}  // namespace muster::image
