# shellcheck shell=bash

# Feeds a parser with what libFuzzer thinks of. Starts from the inputs in tests/testdata/fuzz and
# from what earlier runs found interesting (build/fuzz/corpus); what breaks the target is kept in
# build/fuzz/findings and makes the verb fail.
verb_fuzz() {  # [TARGET|all [SECONDS [LIBFUZZER OPTIONS…]]]
  local target=${1:-} seconds=${2:-60} name targets=() failed=()
  shift $(($# < 2 ? $# : 2))
  mapfile -t targets < <(sed -n 's/^muster_fuzz(\([a-z_]*\)_fuzz.*/\1/p' tests/fuzz/CMakeLists.txt)
  if [[ -z $target ]]; then
    printf '%s\n' "./dev fuzz TARGET|all [SECONDS]; targets:" "${targets[@]/#/  }"
    return 0
  fi
  [[ $seconds =~ ^[0-9]+$ && $seconds -gt 0 ]] || die "'$seconds' is not a number of seconds"
  if [[ $target != all ]]; then
    [[ " ${targets[*]} " == *" ${target%_fuzz} "* ]] ||
      die "no fuzz target '$target'; choose from: ${targets[*]}"
    targets=("${target%_fuzz}")
  fi
  verb_deps fuzz
  cmake --preset fuzz
  cmake --build --preset fuzz --target "${targets[@]/%/_fuzz}"
  for name in "${targets[@]}"; do
    _fuzz_one "$name" "$seconds" "$@" || failed+=("$name")
  done
  ((${#failed[@]} == 0)) || die "findings for: ${failed[*]}; see build/fuzz/findings"
  say "no findings in ${#targets[@]} targets of $seconds s each"
}

_fuzz_one() {  # NAME SECONDS OPTIONS…
  local name=$1 seconds=$2 findings=build/fuzz/findings/$1 corpus=build/fuzz/corpus/$1
  shift 2
  mkdir -p "$findings" "$corpus"
  say "$name for $seconds s"
  # leaks: protobuf and Abseil keep what they make once; see tests/sanitizers/lsan.supp.
  LSAN_OPTIONS=suppressions=$PWD/tests/sanitizers/lsan.supp:print_suppressions=0 \
    UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
    "build/fuzz/tests/${name}_fuzz" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
    -max_len=65536 -print_final_stats=1 -artifact_prefix="$findings/" "$@" \
    "$corpus" "tests/testdata/fuzz/$name"
}
