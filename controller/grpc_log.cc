#include "controller/grpc_log.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "controller/log.h"

namespace muster::controller {
namespace {

struct Meaning {
  absl::string_view part;  // part of gRPC's line
  absl::string_view words;
};

constexpr Meaning kMeanings[] = {
    {"certificate verify failed",
     "refused a connection: its certificate was not issued by this cluster's authority or has "
     "expired"},
    {"peer did not return a certificate",
     "refused a connection: it presented no certificate; machines join through the enrollment "
     "port"},
};

void OnLine(gpr_log_func_args* args) {
  const std::string line = ReadableGrpcLine(args->message);
  if (args->severity == GPR_LOG_SEVERITY_ERROR) {
    LogWarning(line);
  } else {
    LogInfo(line);
  }
}

}  // namespace

void RouteGrpcLog() {
  gpr_set_log_function(OnLine);
  // Protocol Buffers logs every text that is not UTF-8 without naming its origin: a node could fill
  // the log with such lines.
  google::protobuf::SetLogHandler(nullptr);
}

std::string ReadableGrpcLine(absl::string_view line) {
  for (const Meaning& meaning : kMeanings)
    if (absl::StrContains(line, meaning.part)) return std::string(meaning.words);
  return absl::StrCat("grpc: ", line);
}

}  // namespace muster::controller
