// Takes the place of the version of this build in a program that is a later version of it.
#include "common/base/version.h"

namespace muster {

const char* const kVersion = "0.1.1";

}  // namespace muster
