# shellcheck shell=bash

# Configures and builds a preset, or those targets of it; for release, also the Debian packages.
verb_build() {  # [PRESET [TARGET…]]
  local preset=${1:-release}
  shift $(($# > 0))
  cmake --preset "$preset"
  if (($#)); then
    cmake --build --preset "$preset" --target "$@"
    return
  fi
  cmake --build --preset "$preset"
  if [[ $preset == release ]] && ninja -C build/release -t query packages >/dev/null 2>&1; then
    cmake --build --preset "$preset" --target packages
  fi
}
