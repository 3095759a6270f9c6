# shellcheck shell=bash

# Runs every benchmark of the release build; arguments go to each.
verb_bench() {
  local program found=
  verb_deps
  verb_build release
  for program in build/release/bench/*; do
    [[ -f $program && -x $program ]] || continue
    found=yes
    say "${program##*/}"
    "$program" "$@"
  done
  [[ $found ]] || say "no benchmarks in build/release/bench"
}
