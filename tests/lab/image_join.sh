#!/bin/bash
# A machine with a TPM and without a disk is only switched on: it boots the image that the inventory names, asks to
# join, and its key is approved, once. Switched off and on again it is the same node, and nobody is asked.
# `./dev nightly boot` runs it: without hardware support a boot takes minutes. memory_node_test.sh has what a node
# does then, on containers.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"
# shellcheck source=tests/lab/image_user.sh
source "$(dirname "$0")/image_user.sh"
# shellcheck source=tests/lab/image_machine.sh
source "$(dirname "$0")/image_machine.sh"

is_gone() { [[ $(node_json connected) != True ]]; }
chip=
clean() {
  power_off
  [[ -z $chip ]] || kill "$chip" 2>/dev/null || true
  rm -rf "$site"
  remove_image_user
}
# The chip's program ends with the machine; what is in the chip stays.
power_on_with_tpm() {
  swtpm socket --tpm2 --tpmstate "dir=$work/chip" --ctrl "type=unixio,path=$work/tpm.sock" >/dev/null &
  chip=$!
  wait_for 10 "the TPM" test -S "$work/tpm.sock"
  power_on -no-reboot -chardev "socket,id=chip,path=$work/tpm.sock" -tpmdev emulator,id=tpm0,chardev=chip \
    -device tpm-crb,tpmdev=tpm0
}

start_boot_server
lab exec login1 sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
  apt-get install -qq -y -o Dpkg::Use-Pty=0 --no-install-recommends tpm2-tools' >/dev/null 2>&1 </dev/null ||
  fail "no tpm2-tools on login1"
mkdir "$work/chip"
small_image stateless debian-worker

step "the build"
build stateless
expect_equal 0 "$RC" "exit code"
sed -i 's/^vars:/&\n  boot: stateless\n  boot_join: tpm/' "$work/inventory/boot.yaml"
muster inventory apply "$work/inventory" >/dev/null

step "the machine is switched on, and nothing else"
power_on_with_tpm
wait_for $limit "the root" has_step switched
wait_for $limit "a machine that waits" is_waiting
key=$(node_json enrollment_fingerprint)
endorsement=$(node_json enrollment_endorsement_key)
[[ -n $endorsement ]] || fail "it has not proved a TPM"
wait_for 30 "the key on its console" says_on_console "the key of this machine: $key"
muster node approve d001 --key "$key"
wait_for 120 "its agent" is_connected
uuid=$(node_json uuid)
expect_equal "$endorsement" "$(node_json endorsement_key)" "its TPM"

step "after a power cut it is the same node, and nobody was asked"
power_off
wait_for 60 "its absence" is_gone
power_on_with_tpm
wait_for $((2 * limit)) "its agent" is_connected
expect_equal "$uuid" "$(node_json uuid)" "the node"
expect_equal "" "$(node_json enrollment_fingerprint)" "a machine that waits"
expect_contains "$(muster audit list)" "TPM $endorsement" "the audit log"
echo PASSED
