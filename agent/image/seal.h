// Makes a root that is complete fit for everybody: nothing in it is this build's, or secret.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/sys/process/process.h"
#include "common/value/image_files.h"
#include "muster/v1/image.pb.h"

namespace muster::agent {

struct Seal {
  // The root's folder; one file system, nothing mounted in it.
  std::string root;
  // No file in it is younger afterwards.
  absl::Time newest;
};

// What is in a root.
struct SealedRoot {
  std::vector<ImageFile> files;  // all but the content of /boot and /dev
  std::vector<v1::ImagePackage> packages;
};

// Removes what every machine makes anew (its id, ssh host keys, munge's key), and what tells when
// and where the root was made: lists and caches of packages, logs, older copies of files. Takes
// back younger times, also the days of password changes, and tells what is there then.
// FailedPrecondition: a private key is left, which everybody who boots the image could read.
absl::StatusOr<SealedRoot> SealRoot(const Seal& seal, sys::ProcessRunner& processes);

// The content of /etc/shadow with no password changed after `newest`. Pure.
std::string ShadowUntil(const std::string& shadow, absl::Time newest);

// The packages in the output of dpkg-query, sorted. Pure. DataLoss: it does not have the form.
absl::StatusOr<std::vector<v1::ImagePackage>> ParsePackages(const std::string& text);

}  // namespace muster::agent
