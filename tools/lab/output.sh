# What the lab says, all of it on stderr: stdout belongs to the commands it runs.
# shellcheck shell=bash

say()  { printf 'lab: %s\n' "$*" >&2; }
die()  { printf 'lab: error: %s\n' "$*" >&2; exit 1; }

# Seconds since START (a value of $EPOCHREALTIME), with one decimal.
seconds_since() {
  local start=${1/[.,]/} now=${EPOCHREALTIME/[.,]/}
  local tenths=$(((now - start) / 100000))
  printf '%d.%d' $((tenths / 10)) $((tenths % 10))
}
