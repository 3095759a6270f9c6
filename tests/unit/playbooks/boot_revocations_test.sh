#!/bin/bash
# The program of the role boot_revocations on a node whose firmware is a folder of files.
# Usage: boot_revocations_test.sh, in the root of the tree.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PATH=$work/bin:/usr/sbin:/usr/bin:/sbin:/bin
readonly root=$work/root
readonly variables=$root/sys/firmware/efi/efivars lists=$root/etc/muster-revocations
readonly dbx=$variables/dbx-d719b2cb-3d3a-4596-a3bc-dad00e67656f db=$variables/db-d719b2cb-3d3a-4596-a3bc-dad00e67656f
readonly certificate=3082abcdef
one=$(printf '%064d' 1) two=$(printf '%064d' 2) other=$(printf '%064d' 3)

fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
expect_contains() { [[ $1 == *"$2"* ]] || fail "$3: no '$2' in: $1"; }  # TEXT PART WHAT
expect() {  # STATUS VERB WHAT: `output` is what it says
  local status=0
  output=$(sh "$work/boot-revocations" "$2" 2>&1) || status=$?
  [[ $status == "$1" ]] || fail "$3: $2: exit status $status, not $1: $output"
}
# The last byte of a variable; four bytes of attributes come first.
secure_boot() { printf '\006\000\000\000%b' "$1" >"$variables/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"; }
bytes() { python3 -c 'import sys; sys.stdout.buffer.write(bytes.fromhex(sys.argv[1]))' "$1"; }  # HEX

# A node with Secure Boot that runs root $other, and lists of two builds.
node() {
  rm -rf "${work:?}"/{root,bin}
  mkdir -p "$work/bin" "$variables" "$lists" "$root/proc"
  secure_boot '\001'
  echo "boot=muster muster.sha256=$other panic=30" >"$root/proc/cmdline"
  { printf '\047\000\000\000'; bytes "00$certificate"; } >"$db"
  printf '%s\n' "$certificate" "$one $one worker@1" "$two - worker@2" >"$lists/dbx.list"
  # What firmware would add is the whole of its variable here.
  { printf '\147\000\000\000'; bytes "$one$two"; } >"$lists/dbx.auth"
  # shellcheck disable=SC2016  # the program expands it
  printf '#!/bin/sh\necho "$*" >>"%s/called"\n' "$work/bin" >"$work/bin/chattr"
  chmod 755 "$work/bin/chattr"
}

sed -E "s#/(sys/firmware|proc/cmdline|etc/muster-revocations)#$root/\\1#g" \
  playbooks/roles/boot_revocations/files/boot-revocations >"$work/boot-revocations"

echo "== without Secure Boot there is nothing to tell"
node
secure_boot '\000'
expect 0 check "Secure Boot off"
rm -r "$root/sys"
expect 0 check "no UEFI"

echo "== nor is there under other keys, which start nothing of the cluster's"
node
expect 1 check "the cluster's keys"
{ printf '\047\000\000\000'; bytes "003082abcdee"; } >"$db"
expect 0 check "other keys"

echo "== firmware is told once, all in one write"
node
expect 1 check "a firmware that knows nothing"
expect_contains "$output" "still starts worker@1 worker@2" "what it does not know"
expect 0 write "the list"
cmp "$dbx" "$lists/dbx.auth" || fail "the variable is not what was written"
expect_contains "$(<"$work/bin/called")" "-i $dbx" "the variable may be written"
expect 0 check "a firmware that knows all"

echo "== firmware that knows a part"
node
{ printf '\047\000\000\000'; bytes "$two"; } >"$dbx"
expect 1 check "a part"
[[ $output == *"worker@1"* && $output != *"worker@2"* ]] || fail "what it does not know: $output"

echo "== firmware that takes the list, and does not have it"
node
bytes "$one" >"$lists/dbx.auth"
expect 1 write "another list"
expect_contains "$output" "still starts worker@2" "what it does not have"

echo "== firmware that refuses the list"
node
printf '#!/bin/sh\necho "dd: error writing: Permission denied" >&2\nexit 1\n' >"$work/bin/dd"
chmod 755 "$work/bin/dd"
expect 1 write "a refusal"
expect_contains "$output" "does not take the list" "the reason"

echo "== a node that runs what was revoked keeps it"
node
echo "boot=muster muster.sha256=$one panic=30" >"$root/proc/cmdline"
expect 1 write "a root that was revoked"
expect_contains "$output" "this node runs worker@1, which was revoked" "the reason"
[[ ! -e $dbx ]] || fail "the firmware was told"
# A node may run another signing of the same root.
echo "boot=muster muster.sha256=$two" >"$root/proc/cmdline"
expect 0 write "a root that is signed anew"

echo "== a list that is missing is not one that the firmware knows"
node
rm "$lists/dbx.list"
for verb in check write; do
  expect 1 "$verb" "no list"
  expect_contains "$output" "dbx.list is missing" "the reason"
done
[[ ! -e $dbx ]] || fail "the firmware was told"
echo PASSED
