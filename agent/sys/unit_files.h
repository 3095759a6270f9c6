// Compares the files of a unit on disk with those that systemd has read.
#pragma once

#include <string>
#include <vector>

#include "common/sys/file_system.h"

namespace muster::agent {

// Whether the node has a file of `unit` that systemd does not know: its first drop-in, or a file
// that overrides the package's. systemd's own NeedDaemonReload reports neither, because it looks
// where files were when it last read them. `fragment` and `drop_ins` are those that it has read.
bool HasUnreadUnitFiles(sys::FileSystem& files, const std::string& unit,
                        const std::string& fragment, const std::vector<std::string>& drop_ins);

}  // namespace muster::agent
