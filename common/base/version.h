// The version of this build, from the project's version in CMakeLists.txt.
#pragma once

namespace muster {

extern const char* const kVersion;

}  // namespace muster
