// What machines that boot ask and report, read from requests that anybody can send. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "controller/http/http_message.h"
#include "muster/v1/boot.pb.h"

namespace muster::controller::boot {

// Lower case with colons, of "52:54:00:99:00:02" or "52-54-00-99-00-02"; nullopt: neither.
std::optional<std::string> ReadMac(absl::string_view text);

struct BootRequest {
  enum class Kind { kScript, kArtifact, kReport, kDiscovery, kChunks, kWords };
  Kind kind = Kind::kScript;
  std::string mac;       // of kScript, kDiscovery and kWords; canonical
  std::string host;      // of kScript and kChunks: "10.0.0.1:7483", by which the machine reaches us
  std::string image;     // of kArtifact and kChunks: the image's digest
  std::string artifact;  // of kArtifact: "kernel", "initrd", "root.squashfs", …
  std::string boot_id;   // of kReport and kChunks, and of kArtifact where the machine says it
  std::optional<size_t> had = std::nullopt;    // of kChunks: the chunk that the machine got
  std::optional<size_t> lost = std::nullopt;   // of kChunks: the chunk that it did not get
  std::optional<size_t> chunk = std::nullopt;  // of kArtifact: the one chunk of the root it wants
  bool is_leaving = false;  // of kChunks: it has the root and wants to give no more
  v1::BootPhase phase = v1::BOOT_PHASE_UNSPECIFIED;  // of kReport
  // The digest that the root has, in a kReport with REFUSED; the reason, one line, with
  // NOT_WRITTEN, DENIED and NO_MEMORY. Of kWords: the digest that the root has to have.
  std::string found;
  v1::Facts facts;  // of kDiscovery: what a machine may tell that is no node, checked
  // Of kDiscovery: how long it has been on, by its own clock, which may be wrong otherwise.
  absl::Duration up_for;
};

// The largest body of a request: what a machine tells of itself.
inline constexpr size_t kMaxBootRequestBytes = size_t{32} << 10;

// InvalidArgument: a field is wrong. NotFound: there is no such path. Texts of the request are not
// repeated in errors.
absl::StatusOr<BootRequest> ReadBootRequest(const HttpRequest& request);

// The paths that are read by it, for scripts.
std::string ArtifactPath(absl::string_view image, absl::string_view artifact,
                         absl::string_view boot_id);
std::string ReportPath(absl::string_view boot_id);
std::string DiscoveryPath(absl::string_view mac);
std::string ChunksPath(absl::string_view image, absl::string_view boot_id);
std::string ChunkPath(absl::string_view image, absl::string_view boot_id, size_t chunk);

// The bytes that a header Range asks for. OutOfRange: there are none of them. Several ranges, other
// units and what is wrong are ignored, as HTTP has it: all bytes.
absl::StatusOr<HttpReply::Part> ReadRange(absl::string_view header, uint64_t size);

}  // namespace muster::controller::boot
