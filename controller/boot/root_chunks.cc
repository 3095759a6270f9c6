#include "controller/boot/root_chunks.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/base/text/peer.h"
#include "common/sys/unique_fd.h"
#include "controller/boot/boot_request.h"
#include "controller/image/artifact_store.h"

namespace muster::controller::boot {
namespace {

constexpr uint64_t kChunksOfRoot = 128;
constexpr uint64_t kSmallestChunk = uint64_t{256} << 10;
// The initramfs takes no more of what another machine sends.
constexpr uint64_t kLargestChunk = uint64_t{8} << 20;
constexpr absl::Duration kReadingWait = absl::Seconds(1);

absl::StatusOr<std::vector<std::string>> DigestsOf(int fd, uint64_t bytes) {
  const uint64_t of_chunk = ChunkBytes(bytes);
  std::string buffer(of_chunk, '\0');
  std::vector<std::string> digests;
  for (uint64_t at = 0; at < bytes; at += of_chunk) {
    const uint64_t wanted = std::min(of_chunk, bytes - at);
    for (uint64_t done = 0; done < wanted;) {
      const ssize_t got =
          ::pread(fd, buffer.data() + done, wanted - done, static_cast<off_t>(at + done));
      if (got <= 0) return absl::UnavailableError("the root cannot be read");
      done += static_cast<uint64_t>(got);
    }
    digests.push_back(Sha256Hex(absl::string_view(buffer).substr(0, wanted)));
  }
  return digests;
}

// Others fetch from an IPv4 address; a machine with another one only takes.
std::string AddressOf(absl::string_view peer) {
  std::string network = PeerNetwork(peer);
  return absl::StrContains(network, '/') ? "" : network;
}

std::string Wait(absl::Duration wait) {
  return absl::StrFormat("wait %.1f\n", absl::ToDoubleSeconds(wait));
}

}  // namespace

uint64_t ChunkBytes(uint64_t root_bytes) {
  return std::clamp((root_bytes + kChunksOfRoot - 1) / kChunksOfRoot, kSmallestChunk,
                    kLargestChunk);
}

absl::StatusOr<HttpReply::Part> PartOf(size_t chunk, uint64_t root_bytes) {
  const uint64_t of_chunk = ChunkBytes(root_bytes);
  if (chunk >= (root_bytes + of_chunk - 1) / of_chunk)
    return absl::OutOfRangeError("the root has no such chunk");
  const uint64_t offset = chunk * of_chunk;
  return HttpReply::Part{offset, std::min(of_chunk, root_bytes - offset)};
}

absl::StatusOr<std::vector<std::string>> RootChunks::Read(const Asking& asking) {
  ASSIGN_OR_RETURN(const sys::UniqueFd file, artifacts_.OpenFile(asking.root_sha256));
  return DigestsOf(file.get(), asking.root_bytes);
}

void RootChunks::MakeRoom() {
  if (roots_.size() < kMaxRoots) return;
  const auto asked_at = [](const auto& each) {
    absl::MutexLock lock(&each.second->mutex);
    return each.second->asked_at;
  };
  roots_.erase(std::min_element(roots_.begin(), roots_.end(), [&](const auto& a, const auto& b) {
    return asked_at(a) < asked_at(b);
  }));
}

absl::StatusOr<std::shared_ptr<RootChunks::Root>> RootChunks::Find(const Asking& asking) {
  {
    absl::MutexLock lock(&mutex_);
    const auto found = roots_.find(asking.root_sha256);
    if (found != roots_.end()) return found->second;
    // The server has few threads, and those who boot without chunks wait for them, too.
    if (is_reading_) return nullptr;
    is_reading_ = true;
  }
  absl::StatusOr<std::vector<std::string>> digests = Read(asking);
  absl::MutexLock lock(&mutex_);
  is_reading_ = false;
  RETURN_IF_ERROR(digests.status());
  MakeRoom();
  return roots_[asking.root_sha256] = std::make_shared<Root>(*std::move(digests));
}

absl::StatusOr<RootChunks::Reply> RootChunks::Answer(const BootRequest& request,
                                                     const Asking& asking) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Root> root, Find(asking));
  if (root == nullptr) return Reply{Wait(kReadingWait)};
  const absl::Time now = clock_.Now();
  absl::MutexLock lock(&root->mutex);
  root->asked_at = now;
  ChunkExchange& exchange = root->exchange;
  if (request.had.has_value()) exchange.Had(request.boot_id, *request.had, now);
  if (request.lost.has_value()) exchange.Lost(request.boot_id, *request.lost);
  if (request.is_leaving)
    return Reply{exchange.Leave(request.boot_id, now) ? "gone\n"
                                                      : Wait(ChunkExchange::kShortestWait)};
  const ChunkExchange::Step step =
      exchange.Next(request.boot_id, AddressOf(asking.peer), asking.rack, now);
  if (step.kind == ChunkExchange::Step::Kind::kWhole) return Reply{"whole\n", true};
  if (step.kind == ChunkExchange::Step::Kind::kWait) return Reply{Wait(step.wait)};
  const std::string url =
      step.source.has_value()
          ? absl::StrCat("http://", *step.source, ":", kChunkPort, "/", step.chunk)
          : absl::StrCat("http://", request.host,
                         ChunkPath(request.image, request.boot_id, step.chunk));
  return Reply{absl::StrCat("fetch ", step.chunk, " ", root->digests[step.chunk], " ", url, "\n")};
}

}  // namespace muster::controller::boot
