#include "controller/boot/signed_boot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/text/join_word.h"
#include "muster/v1/image.pb.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::boot {
namespace {

using ::muster::testing::StatusIs;
using ::testing::HasSubstr;

constexpr char kServer[] = "http://10.0.0.1:7483";

JoinWord Join() {
  return {.node = "c001",
          .enrollment = "login1:7444",
          .controller = "login1:7443",
          .ca_pin = "sha256:ab"};
}

v1::Image Worker() {
  v1::Image image;
  image.set_digest(std::string(64, 'a'));
  v1::ImageManifest& manifest = *image.mutable_manifest();
  manifest.set_name("worker");
  manifest.set_kind("ram");
  for (const char* argument : {"boot=muster", "console=tty0", "a=${x}"})
    manifest.add_kernel_arguments(argument);
  v1::ImageArtifact& root = *manifest.add_artifacts();
  root.set_name("root.squashfs");
  root.set_sha256(std::string(64, 'b'));
  return image;
}

TEST(SignedBootTest, OneAddressToHoldOnTo) {
  EXPECT_EQ(BootServerUrl("10.0.0.1:7483").value(), kServer);
  EXPECT_EQ(BootServerUrl("[2001:db8::1]:7483").value(), "http://[2001:db8::1]:7483");
  for (const char* several : {"off", "0.0.0.0:7483", "[::]:7483", ":7483"})
    EXPECT_THAT(BootServerUrl(several), StatusIs(absl::StatusCode::kFailedPrecondition,
                                                 HasSubstr("boot_listen in controller.yaml")))
        << several;
}

TEST(SignedBootTest, TheCommandLineIsTheSameForAll) {
  v1::Image image = Worker();
  const std::string line = SignedCommandLine(image, kServer, Join()).value();
  EXPECT_EQ(line, "boot=muster ip=dhcp muster.server=http://10.0.0.1:7483 muster.sha256=" +
                      std::string(64, 'b') +
                      " muster.join=,login1:7444,login1:7443,sha256:ab console=tty0 panic=30");
  image.mutable_manifest()->add_kernel_arguments("panic=5");
  EXPECT_THAT(SignedCommandLine(image, kServer, Join()).value(),
              HasSubstr(" console=tty0 panic=5"));
  // From the network, and from either root of a disk.
  image.mutable_manifest()->set_kind("disk");
  image.mutable_manifest()->mutable_disk()->set_device("blank");
  image.mutable_manifest()->mutable_artifacts(0)->set_size_bytes(4096);
  EXPECT_THAT(SignedCommandLine(image, kServer, Join()).value(),
              HasSubstr(" muster.image=worker@aaaaaaaaaaaa muster.size=4096 console=tty0"));
  image.mutable_manifest()->set_distribution("ubuntu22.04");
  EXPECT_THAT(SignedCommandLine(image, kServer, Join()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("build the image of")));
  image.mutable_manifest()->set_distribution("ubuntu24.04");
  image.mutable_manifest()->clear_artifacts();
  EXPECT_THAT(SignedCommandLine(image, kServer, Join()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("has no root.squashfs")));
}

TEST(SignedBootTest, WhatWasSignedForAnotherAddressIsSignedAnew) {
  v1::Image image = Worker();
  EXPECT_THAT(CheckSigned(image, "quiet"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("it is not signed")));
  image.mutable_signed_kernel()->set_command_line("quiet");
  EXPECT_OK(CheckSigned(image, "quiet"));
  EXPECT_THAT(CheckSigned(image, "loud"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("signs it anew")));
}

TEST(SignedBootTest, WhatAMachineIsToldBesides) {
  const std::string image(64, 'a');
  EXPECT_EQ(RenderBootWords({.node = "c001",
                             .image = image,
                             .boot_id = "5f0c1a52-1b2c-4d3e-8f00-0123456789ab",
                             .root_bytes = 4096,
                             .has_peers = true,
                             .enrolls = true,
                             .is_for_disk = true,
                             .discovery_mac = ""}),
            "muster.root=/image/" + image +
                "/root.squashfs?boot=5f0c1a52-1b2c-4d3e-8f00-0123456789ab\n"
                "muster.size=4096\n"
                "muster.report=/report/5f0c1a52-1b2c-4d3e-8f00-0123456789ab\n"
                "muster.chunks=/chunks/" +
                image +
                "?boot=5f0c1a52-1b2c-4d3e-8f00-0123456789ab\n"
                "muster.enroll=1\nmuster.install=1\nmuster.node=c001\n");
  EXPECT_EQ(RenderBootWords(
                {.node = "", .image = image, .boot_id = "", .discovery_mac = "0c:42:a1:00:12:01"}),
            "muster.root=/image/" + image +
                "/root.squashfs?boot=\nmuster.size=0\nmuster.discovery=/"
                "discovery?mac=0c:42:a1:00:12:01\n");
}

}  // namespace
}  // namespace muster::controller::boot
