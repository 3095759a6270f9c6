// What is on disk of a unit, beside what systemd has read of it.
#pragma once

#include <string>
#include <vector>

#include "common/sys/file_system.h"

namespace muster::agent {

// Whether the node has a file of `unit` that systemd does not know of: its first drop-in, or a file
// that takes the place of the package's. systemd's own NeedDaemonReload tells of neither, because
// it looks where files were when it last read them. `fragment` and `drop_ins` are what it has read.
bool HasUnreadUnitFiles(sys::FileSystem& files, const std::string& unit,
                        const std::string& fragment, const std::vector<std::string>& drop_ins);

}  // namespace muster::agent
