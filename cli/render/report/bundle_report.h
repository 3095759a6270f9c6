// Bundles as text for people. Pure.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::v1 {
class Bundle;
class GetBundleResponse;
class ListBundlesResponse;
}  // namespace muster::v1

namespace muster::cli {

// The digits that people name a bundle by.
std::string ShortDigest(absl::string_view sha256);

// A description of what operators may run of the bundle: "all of it, -e ntp",
// "playbooks/site.yaml", "nothing, revoked by admin:alice", "nothing".
std::string WhatOperatorsMayRun(const v1::Bundle& bundle);

std::string RenderBundles(const v1::ListBundlesResponse& response, absl::Time now);
// Includes its files, or those that differ from the bundle it is compared with, and how.
std::string RenderBundle(const v1::GetBundleResponse& response, absl::Time now);

}  // namespace muster::cli
