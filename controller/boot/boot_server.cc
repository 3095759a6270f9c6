#include "controller/boot/boot_server.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/sys/unique_fd.h"
#include "common/value/image_manifest.h"
#include "controller/boot/boot_request.h"
#include "controller/boot/boot_script.h"
#include "controller/boot/boots.h"
#include "controller/boot/root_chunks.h"
#include "controller/image/image_store.h"

namespace muster::controller::boot {
namespace {

// A rack or ten that boot at once; one machine needs one connection at a time, and several racks
// may stand behind one address.
constexpr unsigned kMaxConnections = 1024;
constexpr unsigned kMaxConnectionsPerPeer = 64;
constexpr unsigned kThreads = 4;
// A reader that takes nothing for so long is gone.
constexpr unsigned kIdleSeconds = 30;
constexpr size_t kMaxConnectionBytes = size_t{16} << 10;

HttpReply Refuse(const absl::Status& status) {
  unsigned code = 500;
  if (absl::IsInvalidArgument(status)) code = 400;
  if (absl::IsNotFound(status)) code = 404;
  if (absl::IsUnavailable(status)) code = 503;
  return {.status = code, .body = absl::StrCat(status.message(), "\n")};
}

std::string ScriptUrl(absl::string_view server, absl::string_view mac) {
  return absl::StrCat(server, "/boot.ipxe?mac=", mac);
}

HttpReply Script(std::string text) { return {.status = 200, .body = std::move(text)}; }

ImageScript ScriptOf(const Answer& answer, const std::string& mac, const std::string& server) {
  ImageScript script;
  script.server = server;
  script.self = ScriptUrl(server, mac);
  script.image = answer.image->digest();
  const v1::ImageArtifact root = RootOf(*answer.image);
  script.root_sha256 = root.sha256();
  script.root_bytes = root.size_bytes();
  script.has_peers = answer.has_peers;
  const auto& arguments = answer.image->manifest().kernel_arguments();
  script.kernel_arguments.assign(arguments.begin(), arguments.end());
  return script;
}

HttpReply Signed(const Answer& answer, const std::string& what, const std::string& mac,
                 const std::string& server) {
  return Script(RenderSignedScript({.what = absl::StrCat(what, ", signed"),
                                    .server = server,
                                    .self = ScriptUrl(server, mac),
                                    .image = answer.image->digest(),
                                    .boot_id = answer.boot_id,
                                    .command_line = answer.command_line}));
}

// A machine that nobody has described.
HttpReply AnswerUnknown(const Answer& answer, const std::string& mac, const std::string& server) {
  const std::string who = absl::StrCat(mac, " is not in the inventory");
  if (answer.image == nullptr)
    return Script(LocalDiskScript(
        absl::StrCat(who, "; going on to the disk",
                     answer.trouble.empty() ? "" : absl::StrCat(", because ", answer.what, ": "),
                     answer.trouble)));
  ImageScript script = ScriptOf(answer, mac, server);
  script.what = absl::StrCat(who, "; booting ", answer.what, " to tell of itself");
  if (!answer.command_line.empty()) return Signed(answer, script.what, mac, server);
  script.node = absl::StrCat("m", absl::StrReplaceAll(mac, {{":", ""}}));
  script.discovery = absl::StrCat(server, DiscoveryPath(mac));
  return Script(RenderImageScript(script));
}

HttpReply AnswerScript(Boots& boots, const BootRequest& request, const std::string& peer) {
  const std::string server = absl::StrCat("http://", request.host);
  const absl::StatusOr<Answer> answer = boots.Begin(request.mac, peer);
  // Firmware that is refused goes on to a disk that may hold anything, and asks no more.
  if (absl::IsUnavailable(answer.status()))
    return Script(RetryScript(
        absl::StrCat("the controller does not know what to boot: ", answer.status().message()),
        ScriptUrl(server, request.mac)));
  if (!answer.ok()) return Refuse(answer.status());
  HttpReply reply;
  switch (answer->kind) {
    case Answer::Kind::kUnknown:
      return AnswerUnknown(*answer, request.mac, server);
    case Answer::Kind::kDisk:
      reply = Script(LocalDiskScript(absl::StrCat(answer->node, " boots from its disk")));
      break;
    case Answer::Kind::kNoImage:
      return Script(RetryScript(
          absl::StrCat(answer->node, " cannot boot ", answer->what, ": ", answer->trouble),
          ScriptUrl(server, request.mac)));
    case Answer::Kind::kImage: {
      ImageScript script = ScriptOf(*answer, request.mac, server);
      script.what = absl::StrCat(answer->node, " boots ", answer->what);
      script.node = answer->node;
      script.boot_id = answer->boot_id;
      script.join = answer->join;
      if (answer->is_for_disk) {
        script.what = absl::StrCat(answer->node, " writes ", answer->what, " to its disk");
        script.install = answer->what;
        script.disk = answer->disk;
      }
      reply = answer->command_line.empty() ? Script(RenderImageScript(script))
                                           : Signed(*answer, script.what, request.mac, server);
      break;
    }
  }
  reply.on_sent = [&boots, boot_id = answer->boot_id] { boots.OnScriptSent(boot_id); };
  return reply;
}

HttpReply AnswerArtifact(Boots& boots, image::ImageStore& images, const BootRequest& request,
                         absl::string_view range) {
  const auto image = images.Get(request.image);
  if (!image.ok()) return Refuse(image.status());
  const v1::ImageArtifact* const artifact = FindArtifact(**image, request.artifact);
  if (artifact == nullptr) return Refuse(absl::NotFoundError("not found"));
  absl::StatusOr<sys::UniqueFd> file = images.artifacts().OpenFile(artifact->sha256());
  if (!file.ok()) return Refuse(file.status());
  const uint64_t size = artifact->size_bytes();
  HttpReply reply;
  reply.headers = {{"Accept-Ranges", "bytes"}};
  const absl::StatusOr<HttpReply::Part> part =
      request.chunk.has_value() ? PartOf(*request.chunk, size) : ReadRange(range, size);
  if (!part.ok()) {
    reply.status = 416;
    reply.headers.emplace_back("Content-Range", absl::StrCat("bytes */", size));
    return reply;
  }
  reply.status = part->bytes == size || request.chunk.has_value() ? 200 : 206;
  reply.content_type = "application/octet-stream";
  if (reply.status == 206)
    reply.headers.emplace_back(
        "Content-Range",
        absl::StrCat("bytes ", part->offset, "-", part->offset + part->bytes - 1, "/", size));
  reply.part = *part;
  reply.fd = file->Release();
  if (part->offset + part->bytes == size && !request.chunk.has_value())
    reply.on_sent = [&boots, request] {
      boots.OnArtifactSent(request.boot_id, request.image, request.artifact);
    };
  return reply;
}

HttpReply AnswerChunks(const BootSources& from, const BootRequest& request,
                       const std::string& peer) {
  const auto image = from.images.Get(request.image);
  if (!image.ok()) return Refuse(image.status());
  const v1::ImageArtifact* const root = FindArtifact(**image, kRootArtifact);
  if (root == nullptr) return Refuse(absl::NotFoundError("not found"));
  const absl::StatusOr<std::string> rack = from.boots.RackOf(request.boot_id, request.image);
  if (!rack.ok()) return Refuse(rack.status());
  const absl::StatusOr<RootChunks::Reply> answer =
      from.chunks.Answer(request, {.root_sha256 = root->sha256(),
                                   .root_bytes = root->size_bytes(),
                                   .peer = peer,
                                   .rack = *rack});
  if (!answer.ok()) return Refuse(answer.status());
  // From whomever.
  if (answer->is_whole) from.boots.OnArtifactSent(request.boot_id, request.image, kRootArtifact);
  return {.status = 200, .body = answer->line};
}

}  // namespace

HttpReply AnswerBoot(const BootSources& from, const HttpRequest& request) {
  Boots& boots = from.boots;
  const absl::StatusOr<BootRequest> read = ReadBootRequest(request);
  if (!read.ok()) return Refuse(read.status());
  switch (read->kind) {
    case BootRequest::Kind::kScript:
      return AnswerScript(boots, *read, request.peer);
    case BootRequest::Kind::kArtifact:
      return AnswerArtifact(boots, from.images, *read, request.Header("range"));
    case BootRequest::Kind::kChunks:
      return AnswerChunks(from, *read, request.peer);
    case BootRequest::Kind::kReport: {
      const absl::Status taken = boots.OnReport(read->boot_id, read->phase, read->found);
      if (!taken.ok()) return Refuse(taken);
      return {.status = 200, .body = "noted\n"};
    }
    case BootRequest::Kind::kWords: {
      const absl::StatusOr<BootWords> words = boots.WordsOf(read->mac, read->found);
      if (!words.ok()) return Refuse(words.status());
      return {.status = 200, .body = RenderBootWords(*words)};
    }
    case BootRequest::Kind::kDiscovery: {
      const absl::StatusOr<bool> is_node =
          boots.OnDiscovery(read->mac, request.peer, read->facts, read->up_for);
      if (!is_node.ok()) return Refuse(is_node.status());
      return {.status = 200, .body = *is_node ? "adopted\n" : "waiting\n"};
    }
  }
  return Refuse(absl::NotFoundError("not found"));
}

absl::StatusOr<std::unique_ptr<HttpServer>> StartBootServer(const std::string& listen,
                                                            const BootSources& from) {
  return HttpServer::Start(
      {.listen = listen,
       .setting = "boot_listen",
       .max_connections = kMaxConnections,
       .threads = kThreads,
       .idle_seconds = kIdleSeconds,
       .max_connections_per_peer = kMaxConnectionsPerPeer,
       .max_connection_bytes = kMaxConnectionBytes,
       .max_body_bytes = kMaxBootRequestBytes},
      [from](const HttpRequest& request) { return AnswerBoot(from, request); });
}

}  // namespace muster::controller::boot
