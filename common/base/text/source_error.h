// One format for errors at a place in a text that somebody wrote.
//
//   roles/x/gres.conf.j2:12:13: undefined variable 'gpu_cuont' (did you mean 'gpu_count'?)
//     12 | Gres=gpu:{{ gpu_cuont }}
//        |             ^
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace muster {

// "file:line:column: message", the line itself and a caret under the column (both count from 1; a
// column is a byte). No newline at the end. A long line is cut to about 160 characters around the
// column; control characters become spaces; without such a line the message stands alone.
std::string RenderSourceError(absl::string_view file, int line, int column,
                              absl::string_view whole_source, absl::string_view message);

}  // namespace muster
