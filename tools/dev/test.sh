# shellcheck shell=bash

# Everything from a fresh machine to the verdict; arguments go to ctest.
verb_test() {
  local rc=0
  verb_deps
  verb_build release
  # Most unit tests wait more than they work: two share a processor. A lab counts as two of them.
  ctest --preset release --parallel "$((2 * $(nproc)))" "$@" || rc=$?
  ((rc == 0)) || _why_tests_failed build/release/Testing/Temporary
  return "$rc"
}

# What a failed test said of its cause stands thousands of lines above ctest's summary.
_why_tests_failed() {  # FOLDER OF ctest's LOGS
  local most=40 last=12 test said
  [[ -r $1/LastTestsFailed.log ]] || return 0
  while IFS=: read -r _ test; do
    said=$(awk -v name="$test" '
      /^[0-9]+\/[0-9]+ Test: / { inside = $3 == name }
      inside && /^<end of output>$/ { exit }
      inside && NF { print }' "$1/LastTest.log")
    say "$test failed (all that it said: $1/LastTest.log)"
    { grep -aE -A 20 ': Failure$|^FAILED: ' <<<"$said" | head -n "$most"; tail -n "$last" <<<"$said"; } >&2 || true
  done <"$1/LastTestsFailed.log"
}
