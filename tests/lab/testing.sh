# For tests that boot machines. Sourced: checks for root, names the test's lab
# and takes it down at the end, however that comes.
# shellcheck shell=bash

if ((EUID != 0)); then echo "SKIPPED: a lab needs root"; exit 77; fi
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

# One name a checkout and test: what a killed run left, the next one removes.
LAB_TEST_NAME=t$(echo "$PWD $0" | sha256sum | cut -c1-8)

lab() {  # VERB ARGS…
  local verb=$1
  shift
  ./dev lab "$verb" --name "$LAB_TEST_NAME" "$@"
}

fail() { echo "FAILED: $*" >&2; exit 1; }

expect_equal() {  # WANT GOT WHAT
  [[ $1 == "$2" ]] || fail "$3: want '$1', got '$2'"
}

_end_of_test() {
  local rc=$? logs
  trap - EXIT
  if ((rc != 0)); then
    logs=build/lab-logs/$(basename "$0" .sh)
    rm -rf "$logs"
    lab logs "$logs" 2>/dev/null && echo "logs: $logs"
  fi
  lab down || rc=1
  exit "$rc"
}
trap _end_of_test EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
