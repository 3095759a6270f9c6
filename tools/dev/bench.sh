# shellcheck shell=bash

# Builds and runs every benchmark of the release build; arguments go to each.
verb_bench() {
  local program found=
  verb_deps
  cmake --preset release
  cmake --build --preset release --target benchmarks
  for program in build/release/bench/*_bench; do
    [[ -f $program && -x $program ]] || continue
    found=yes
    say "${program##*/}"
    "$program" "$@"
  done
  [[ $found ]] || die "no benchmarks in build/release/bench"
}
