# shellcheck shell=bash

# Everything from a fresh machine to the verdict; arguments go to ctest.
verb_test() {
  verb_deps
  verb_build release
  exec ctest --preset release --parallel "$(nproc)" "$@"
}
