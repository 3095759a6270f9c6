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
class RootChunks;

// What the answers are made of.
struct BootSources {
  Boots& boots;
  image::ImageStore& images;
  RootChunks& chunks;
};

// Scripts by MAC address, the kernels, initramfs and roots of kept images, who has which chunk of a
// root, and reports of boots. Nothing of it is secret, and nothing that a machine says is believed
// beyond its own boot.
HttpReply AnswerBoot(const BootSources& from, const HttpRequest& request);

// `listen` and errors as of HttpServer; what `from` refers to must outlive the server.
absl::StatusOr<std::unique_ptr<HttpServer>> StartBootServer(const std::string& listen,
                                                            const BootSources& from);

}  // namespace muster::controller::boot
