# shellcheck shell=bash

# Configures and builds a preset; for release, also the Debian packages.
verb_build() {
  local preset=${1:-release}
  cmake --preset "$preset"
  cmake --build --preset "$preset"
  if [[ $preset == release ]] && ninja -C build/release -t query packages >/dev/null 2>&1; then
    cmake --build --preset "$preset" --target packages
  fi
}
