// The server that machines boot from, over plain HTTP.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "controller/http/http_server.h"

namespace muster::controller::image {
class ImageStore;
}

namespace muster::controller::boot {

class Boots;

// Scripts by MAC address, the kernels, initramfs and roots of kept images, and reports of boots.
// Nothing of it is secret, and nothing that a machine says is believed beyond its own boot.
HttpReply AnswerBoot(Boots& boots, image::ImageStore& images, const HttpRequest& request);

// `listen` and errors as of HttpServer; the references must outlive the server.
absl::StatusOr<std::unique_ptr<HttpServer>> StartBootServer(const std::string& listen, Boots& boots,
                                                            image::ImageStore& images);

}  // namespace muster::controller::boot
