// The version of this build, from the project's version in CMakeLists.txt.
#pragma once

namespace muster {

inline constexpr char kVersion[] = MUSTER_VERSION;

}  // namespace muster
