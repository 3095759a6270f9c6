# shellcheck shell=bash

# Everything from a fresh machine to the verdict; arguments go to ctest.
verb_test() {
  verb_deps
  verb_build release
  # Most unit tests wait more than they work: two share a processor. A lab counts as two of them.
  exec ctest --preset release --parallel "$((2 * $(nproc)))" "$@"
}
