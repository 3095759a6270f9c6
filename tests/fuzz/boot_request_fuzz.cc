// No request of a machine that boots may crash the reader, nor lead it out of what it knows; no
// script that is written from it may have a line that its writer did not write.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/digest.h"
#include "common/base/id.h"
#include "common/base/text/plain_text.h"
#include "common/wire/message_rules.h"
#include "controller/boot/boot_request.h"
#include "controller/boot/boot_script.h"
#include "tests/fuzz/fuzz_target.h"

FUZZ_TARGET(boot_request, data, size) {
  using namespace muster::controller;
  using namespace muster::controller::boot;
  // The path, the host, the range, a line NAME=VALUE for each part of the query; behind a line with
  // a dot, what is posted.
  const std::pair<absl::string_view, absl::string_view> parts_of_input = absl::StrSplit(
      absl::string_view(reinterpret_cast<const char*>(data), size), absl::MaxSplits("\n.\n", 1));
  const std::vector<std::string> lines =
      absl::StrSplit(parts_of_input.first, absl::MaxSplits('\n', 20));
  HttpRequest request;
  request.body = std::string(parts_of_input.second);
  if (!request.body.empty()) request.method = "POST";
  request.path = lines[0];
  if (lines.size() > 1) request.headers["host"] = lines[1];
  for (size_t i = 3; i < lines.size(); ++i) {
    const std::vector<std::string> parts = absl::StrSplit(lines[i], absl::MaxSplits('=', 1));
    request.query[parts[0]] = parts.size() > 1 ? parts[1] : "";
  }
  constexpr uint64_t kSizes[] = {0, 1, 1000, UINT64_MAX};
  for (const uint64_t whole : kSizes) {
    const auto part = ReadRange(lines.size() > 2 ? lines[2] : "", whole);
    if (part.ok() && (part->bytes > whole || part->offset > whole - part->bytes)) std::abort();
  }
  const auto read = ReadBootRequest(request);
  if (!read.ok()) {
    if (read.status().message().empty()) std::abort();
    return 0;
  }
  if (read->kind == BootRequest::Kind::kArtifact) {
    if (!muster::IsSha256(read->image) || read->artifact.find('/') != std::string::npos)
      std::abort();
  }
  if (read->kind == BootRequest::Kind::kChunks) {
    // The host goes into an address that a shell reads.
    if (!muster::IsSha256(read->image) || read->boot_id.empty() ||
        read->host.find_first_of(" \n$`&;|") != std::string::npos)
      std::abort();
  }
  if (read->chunk.has_value() && read->artifact != "root.squashfs") std::abort();
  if (!read->boot_id.empty() && !muster::IsUuid(read->boot_id)) std::abort();
  if (read->kind == BootRequest::Kind::kReport && !read->found.empty()) {
    // A digest, or the reason of a machine that has not written its disk.
    const bool is_reason = read->phase == muster::v1::BOOT_PHASE_NOT_WRITTEN;
    if (is_reason ? !muster::IsPlain(read->found, muster::Lines::kOne)
                  : !muster::IsSha256(read->found))
      std::abort();
  }
  if (read->kind == BootRequest::Kind::kDiscovery) {
    if (ReadMac(read->mac) != read->mac || !muster::wire::Check(read->facts).ok()) std::abort();
    if (read->facts.ByteSizeLong() > 4 * kMaxBootRequestBytes) std::abort();
  }
  if (read->kind != BootRequest::Kind::kScript) return 0;
  if (ReadMac(read->mac) != read->mac) std::abort();
  ImageScript script;
  script.what = request.path + lines.back();
  script.server = absl::StrCat("http://", read->host);
  ImageScript plain;
  plain.what = "c001 boots debian-worker";
  plain.server = "http://10.0.0.1:8080";
  const std::string text = RenderImageScript(script);
  const std::string wanted = RenderImageScript(plain);
  if (std::count(text.begin(), text.end(), '\n') != std::count(wanted.begin(), wanted.end(), '\n'))
    std::abort();
  const std::string local = LocalDiskScript(lines.back());
  if (std::count(local.begin(), local.end(), '\n') != 3) std::abort();
  return 0;
}
