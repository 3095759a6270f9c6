#include "controller/boot/boot_request.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/digest.h"
#include "common/base/id.h"
#include "common/base/status.h"
#include "common/base/text/plain_text.h"
#include "common/value/image_manifest.h"
#include "common/wire/message_rules.h"

namespace muster::controller::boot {
namespace {

constexpr absl::string_view kScriptPath = "/boot.ipxe";
constexpr absl::string_view kImagePrefix = "/image/";
constexpr absl::string_view kReportPrefix = "/report/";
constexpr absl::string_view kChunksPrefix = "/chunks/";
constexpr absl::string_view kDiscoveryPath = "/discovery";
constexpr absl::string_view kWordsPath = "/words";
constexpr const char* kArtifacts[] = {"kernel", "initrd", kRootArtifact, kSignedArtifact,
                                      kLoaderArtifact};
constexpr size_t kMaxHost = 255;
constexpr size_t kMaxReason = 300;
// Disks, ports and cards that a machine may tell of.
constexpr int kMaxParts = 2048;
// A machine that has been on for longer waits for nobody.
constexpr absl::Duration kLongestUp = absl::Hours(30 * 24);

// What a machine may report; the rest is seen here.
constexpr std::pair<absl::string_view, v1::BootPhase> kReports[] = {
    {"verified", v1::BOOT_PHASE_VERIFIED},       {"switched", v1::BOOT_PHASE_SWITCHED},
    {"refused", v1::BOOT_PHASE_REFUSED},         {"written", v1::BOOT_PHASE_WRITTEN},
    {"not_written", v1::BOOT_PHASE_NOT_WRITTEN}, {"healthy", v1::BOOT_PHASE_HEALTHY},
    {"fallen_back", v1::BOOT_PHASE_FALLEN_BACK}, {"denied", v1::BOOT_PHASE_DENIED},
    {"enrolled", v1::BOOT_PHASE_ENROLLED},       {"no_memory", v1::BOOT_PHASE_NO_MEMORY},
};

// Why a machine says that it was denied its boot.
constexpr std::pair<absl::string_view, absl::string_view> kDenials[] = {
    {"signature",
     "its firmware does not start the signed kernel image: it is not what was signed, it was "
     "revoked, or the firmware does not trust the key"},
    {"off",
     "Secure Boot is off in its firmware, which starts anything; switch it on, or have "
     "`boot_signed: enroll` give keys to firmware that is in setup mode"},
    {"keys", "its firmware does not take the cluster's keys"},
};

// A host with or without a port, as a script may repeat it: letters that mean something to iPXE or
// a shell are not among them.
bool IsHost(absl::string_view text) {
  return !text.empty() && text.size() <= kMaxHost &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' ||
                  c == ':' || c == '[' || c == ']';
         });
}

absl::Status Wrong(absl::string_view field) {
  return absl::InvalidArgumentError(absl::StrCat(field, " is missing or wrong"));
}

absl::StatusOr<uint32_t> ReadMib(const HttpRequest& request, absl::string_view field) {
  uint32_t mib = 0;
  if (absl::SimpleAtoi(request.Query(field), &mib)) return mib;
  return Wrong(field);
}

absl::StatusOr<BootRequest> ReadScriptRequest(const HttpRequest& request) {
  BootRequest read;
  const std::optional<std::string> mac = ReadMac(request.Query("mac"));
  if (!mac.has_value()) return Wrong("mac");
  read.mac = *mac;
  read.host = std::string(request.Header("host"));
  if (!IsHost(read.host)) return Wrong("the header Host");
  return read;
}

absl::StatusOr<BootRequest> ReadWordsRequest(const HttpRequest& request) {
  BootRequest read;
  read.kind = BootRequest::Kind::kWords;
  const std::optional<std::string> mac = ReadMac(request.Query("mac"));
  if (!mac.has_value()) return Wrong("mac");
  read.mac = *mac;
  if (!IsSha256(request.Query("sha256"))) return Wrong("sha256");
  read.found = std::string(request.Query("sha256"));
  return read;
}

// The number of a chunk in the query; nullopt: it is not named.
absl::StatusOr<std::optional<size_t>> ReadChunk(const HttpRequest& request,
                                                absl::string_view name) {
  const absl::string_view text = request.Query(name);
  if (text.empty()) return std::nullopt;
  uint32_t chunk = 0;
  if (!absl::SimpleAtoi(text, &chunk)) return Wrong(name);
  return std::optional<size_t>(chunk);
}

absl::StatusOr<BootRequest> ReadChunksRequest(absl::string_view image, const HttpRequest& request) {
  if (!IsSha256(image)) return absl::NotFoundError("not found");
  BootRequest read;
  read.kind = BootRequest::Kind::kChunks;
  read.image = std::string(image);
  read.host = std::string(request.Header("host"));
  if (!IsHost(read.host)) return Wrong("the header Host");
  if (!IsUuid(request.Query("boot"))) return Wrong("boot");
  read.boot_id = std::string(request.Query("boot"));
  ASSIGN_OR_RETURN(read.had, ReadChunk(request, "had"));
  ASSIGN_OR_RETURN(read.lost, ReadChunk(request, "lost"));
  read.is_leaving = request.Query("leaving") == "1";
  return read;
}

absl::StatusOr<BootRequest> ReadArtifactRequest(absl::string_view path,
                                                const HttpRequest& request) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(path, absl::MaxSplits('/', 1));
  const bool is_known =
      std::find(std::begin(kArtifacts), std::end(kArtifacts), parts.second) != std::end(kArtifacts);
  if (!IsSha256(parts.first) || !is_known) return absl::NotFoundError("not found");
  BootRequest read;
  read.kind = BootRequest::Kind::kArtifact;
  read.image = std::string(parts.first);
  read.artifact = std::string(parts.second);
  ASSIGN_OR_RETURN(read.chunk, ReadChunk(request, "chunk"));
  if (read.chunk.has_value() && read.artifact != kRootArtifact) return Wrong("chunk");
  const absl::string_view boot_id = request.Query("boot");
  if (boot_id.empty()) return read;
  if (!IsUuid(boot_id)) return Wrong("boot");
  read.boot_id = std::string(boot_id);
  return read;
}

absl::StatusOr<BootRequest> ReadReport(absl::string_view boot_id, const HttpRequest& request) {
  if (!IsUuid(boot_id)) return absl::NotFoundError("not found");
  BootRequest read;
  read.kind = BootRequest::Kind::kReport;
  read.boot_id = std::string(boot_id);
  for (const auto& [word, phase] : kReports) {
    if (request.Query("phase") == word) read.phase = phase;
  }
  if (read.phase == v1::BOOT_PHASE_UNSPECIFIED) return Wrong("phase");
  if (read.phase == v1::BOOT_PHASE_NOT_WRITTEN)
    read.found = PlainText(request.Query("why"), Lines::kOne, kMaxReason);
  if (read.phase == v1::BOOT_PHASE_DENIED) {
    for (const auto& [word, reason] : kDenials) {
      if (request.Query("why") == word) read.found = std::string(reason);
    }
    if (read.found.empty()) return Wrong("why");
  }
  if (read.phase == v1::BOOT_PHASE_NO_MEMORY) {
    ASSIGN_OR_RETURN(const uint32_t free_mib, ReadMib(request, "free"));
    ASSIGN_OR_RETURN(const uint32_t needed_mib, ReadMib(request, "needed"));
    read.found = absl::StrCat("the root needs ", needed_mib, " MiB of memory, and the machine has ",
                              free_mib, " MiB free");
  }
  if (read.phase != v1::BOOT_PHASE_REFUSED) return read;
  if (!IsSha256(request.Query("sha256"))) return Wrong("sha256");
  read.found = std::string(request.Query("sha256"));
  return read;
}

absl::Duration UpFor(const v1::Facts& told) {
  if (!told.has_gathered_at() || !told.os().has_booted_at()) return absl::ZeroDuration();
  const absl::Duration up_for =
      absl::Seconds(told.gathered_at().seconds()) - absl::Seconds(told.os().booted_at().seconds());
  return std::clamp(up_for, absl::ZeroDuration(), kLongestUp);
}

// What describes a machine; the rest of the facts is about its system, which is not its own.
v1::Facts FactsOfMachine(v1::Facts& told) {
  v1::Facts facts;
  facts.set_allocated_machine(told.release_machine());
  facts.set_allocated_cpu(told.release_cpu());
  facts.set_allocated_memory(told.release_memory());
  facts.mutable_disks()->Swap(told.mutable_disks());
  facts.mutable_nics()->Swap(told.mutable_nics());
  facts.mutable_pci_devices()->Swap(told.mutable_pci_devices());
  facts.mutable_gpus()->Swap(told.mutable_gpus());
  facts.mutable_neighbors()->Swap(told.mutable_neighbors());
  return facts;
}

absl::StatusOr<BootRequest> ReadDiscovery(const HttpRequest& request) {
  BootRequest read;
  read.kind = BootRequest::Kind::kDiscovery;
  const std::optional<std::string> mac = ReadMac(request.Query("mac"));
  if (!mac.has_value()) return Wrong("mac");
  read.mac = *mac;
  v1::Facts told;
  if (request.body.size() > kMaxBootRequestBytes || !told.ParseFromString(request.body))
    return Wrong("the body, a muster.v1.Facts,");
  read.up_for = UpFor(told);
  read.facts = FactsOfMachine(told);
  // Before thousands of empty ones are cleaned.
  if (read.facts.disks_size() + read.facts.nics_size() + read.facts.pci_devices_size() +
          read.facts.gpus_size() + read.facts.neighbors_size() >
      kMaxParts)
    return absl::InvalidArgumentError(absl::StrCat("a machine of more than ", kMaxParts, " parts"));
  wire::Clean(read.facts);
  RETURN_IF_ERROR(wire::Check(read.facts));
  return read;
}

}  // namespace

std::optional<std::string> ReadMac(absl::string_view text) {
  const char separator = text.size() > 2 && text[2] == '-' ? '-' : ':';
  const std::vector<absl::string_view> bytes = absl::StrSplit(text.substr(0, 32), separator);
  const bool is_mac =
      bytes.size() == 6 && std::all_of(bytes.begin(), bytes.end(), [](absl::string_view byte) {
        return byte.size() == 2 && absl::ascii_isxdigit(static_cast<unsigned char>(byte[0])) &&
               absl::ascii_isxdigit(static_cast<unsigned char>(byte[1]));
      });
  if (!is_mac || text.size() != 17) return std::nullopt;
  return absl::AsciiStrToLower(absl::StrJoin(bytes, ":"));
}

absl::StatusOr<BootRequest> ReadBootRequest(const HttpRequest& request) {
  absl::string_view path = request.path;
  const bool is_told = request.method == "POST";
  if (is_told != (path == kDiscoveryPath))
    return absl::InvalidArgumentError(is_told ? "only what a machine tells of itself is posted"
                                              : "what a machine tells of itself is posted");
  if (path == kScriptPath) return ReadScriptRequest(request);
  if (path == kDiscoveryPath) return ReadDiscovery(request);
  if (path == kWordsPath) return ReadWordsRequest(request);
  if (absl::ConsumePrefix(&path, kImagePrefix)) return ReadArtifactRequest(path, request);
  if (absl::ConsumePrefix(&path, kReportPrefix)) return ReadReport(path, request);
  if (absl::ConsumePrefix(&path, kChunksPrefix)) return ReadChunksRequest(path, request);
  return absl::NotFoundError("not found");
}

std::string ArtifactPath(absl::string_view image, absl::string_view artifact,
                         absl::string_view boot_id) {
  return absl::StrCat(kImagePrefix, image, "/", artifact, "?boot=", boot_id);
}

std::string ReportPath(absl::string_view boot_id) { return absl::StrCat(kReportPrefix, boot_id); }

std::string DiscoveryPath(absl::string_view mac) {
  return absl::StrCat(kDiscoveryPath, "?mac=", mac);
}

std::string ChunksPath(absl::string_view image, absl::string_view boot_id) {
  return absl::StrCat(kChunksPrefix, image, "?boot=", boot_id);
}

std::string ChunkPath(absl::string_view image, absl::string_view boot_id, size_t chunk) {
  return absl::StrCat(ArtifactPath(image, kRootArtifact, boot_id), "&chunk=", chunk);
}

absl::StatusOr<HttpReply::Part> ReadRange(absl::string_view header, uint64_t size) {
  const HttpReply::Part all{0, size};
  if (!absl::ConsumePrefix(&header, "bytes=")) return all;
  const std::vector<absl::string_view> ends = absl::StrSplit(header, '-');
  if (ends.size() != 2) return all;
  const auto is_number = [](absl::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
      return absl::ascii_isdigit(static_cast<unsigned char>(c));
    });
  };
  uint64_t first = 0, last = 0;
  if (ends[0].empty()) {  // so many of the end
    if (!is_number(ends[1]) || !absl::SimpleAtoi(ends[1], &last)) return all;
    if (last == 0 || size == 0) return absl::OutOfRangeError("no such bytes");
    const uint64_t bytes = std::min(last, size);
    return HttpReply::Part{size - bytes, bytes};
  }
  if (!is_number(ends[0]) || !absl::SimpleAtoi(ends[0], &first)) return all;
  last = size == 0 ? 0 : size - 1;
  if (!ends[1].empty()) {
    uint64_t named = 0;
    if (!is_number(ends[1]) || !absl::SimpleAtoi(ends[1], &named) || named < first) return all;
    last = std::min(last, named);
  }
  if (first >= size) return absl::OutOfRangeError("no such bytes");
  return HttpReply::Part{first, last - first + 1};
}

}  // namespace muster::controller::boot
