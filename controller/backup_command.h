// musterd backup: the command that `muster backup` runs on the controller.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace muster::controller {

// `arguments` are those after "backup". Reports what was done on standard output.
absl::Status RunBackupCommand(absl::Span<char* const> arguments);

inline constexpr char kBackupUsage[] =
    "usage: musterd backup create|verify|restore FILE [options]\n\n"
    "  --settings FILE         the controller's settings (/etc/muster/controller.yaml)\n"
    "  --passphrase-file FILE  its first line seals or opens the keys (default: ask)\n"
    "  --without-keys          leave the cluster's keys out (create), or sealed (verify)\n"
    "  --force                 restore over a store that is newer than the backup\n";

}  // namespace muster::controller
