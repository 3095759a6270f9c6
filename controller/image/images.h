// What people do with images, with entries in the audit log.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "muster/v1/image.pb.h"

namespace muster {
class Clock;
}

namespace muster::controller {
class Store;
struct Actor;
}  // namespace muster::controller

namespace muster::controller::image {

class ImageStore;

// Keeps, pins and deletes them. Thread-safe.
class Images {
 public:
  // The references must outlive the object.
  Images(ImageStore& images, Store& store, Clock& clock)
      : images_(images), store_(store), clock_(clock) {}

  // See ImageService. One that is kept already stays as it is, and so does the audit log.
  absl::StatusOr<v1::Image> Keep(const v1::ImageManifest& manifest, const Actor& actor);
  // InvalidArgument: a field, or it was signed with another command line than `planned`.
  absl::StatusOr<v1::Image> KeepSigned(const v1::Image& image, v1::SignedKernel kernel,
                                       const std::string& planned, const Actor& actor);
  absl::StatusOr<v1::Image> Pin(absl::string_view reference, bool pinned, const Actor& actor);
  absl::StatusOr<uint64_t> Delete(absl::string_view reference, const Actor& actor);

 private:
  ImageStore& images_;
  Store& store_;
  Clock& clock_;
};

}  // namespace muster::controller::image
