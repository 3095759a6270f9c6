#!/bin/bash
# Secure Boot with the cluster's own keys for a machine with a disk: the image that it writes to its disk is signed, and
# so is the loader there; the controller says which disk. Of a kernel image or a root on the disk with one other byte it
# boots nothing, and of the loader's entries it takes no word. `./dev nightly boot` runs it: without hardware support a
# boot takes minutes.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"
# shellcheck source=tests/lab/image_user.sh
source "$(dirname "$0")/image_user.sh"
# shellcheck source=tests/lab/image_machine.sh
source "$(dirname "$0")/image_machine.sh"

on_node() { muster exec d001 -- "$@"; }  # COMMAND…
# An agent tells its facts a moment after it has connected.
has_argument() { [[ " $(arguments)" == *" $1"* ]]; }  # WORD
arguments() { muster -o json node facts d001 | read_json 'print(value["os"]["kernel_arguments"])'; }
boot_id() { on_node cat /proc/sys/kernel/random/boot_id 2>/dev/null | tail -n 1; }
# Where the disk has the text for the last time, of its first GiB, in which the EFI system partition is.
find_text() {  # TEXT
  local at
  at=$(head -c 1G "$machine/disk" | LC_ALL=C grep -aob -F "$1" | tail -n 1)
  [[ -n $at ]] || fail "the disk has no '$1'"
  echo "${at%%:*}"
}
partition_at() {  # NAME: the offset of its first byte, by the GPT
  python3 -c '
import struct, sys
table = open(sys.argv[1], "rb").read(1 << 20)
first, count, size = struct.unpack_from("<QII", table, 512 + 72)
for at in range(first * 512, first * 512 + count * size, size):
    if table[at + 56:at + 128].decode("utf-16-le").rstrip("\0") == sys.argv[2]:
        print(struct.unpack_from("<Q", table, at + 32)[0] * 512)' "$machine/disk" "$1"
}
write_at() { dd of="$machine/disk" bs=1 seek="$1" conv=notrunc status=none; }  # OFFSET: what comes from standard input
flip_at() {  # OFFSET: one bit of the byte there; again, and it is as before
  local byte
  byte=$(dd if="$machine/disk" bs=1 skip="$1" count=1 status=none | od -An -tu1)
  # shellcheck disable=SC2059  # an escape
  printf "\\$(printf %o $((byte ^ 1)))" | write_at "$1"
}

machine_firmware=secure start_boot_server
lab machine d001 tpm=no
small_image stateful debian-worker-disk 's/root_mib: .*/root_mib: 1024/; s/state_mib: .*/state_mib: 1024/'
lab exec login1 sed -i 's/^exec: .*/exec: "on"/' /etc/muster/controller.yaml
lab exec login1 systemctl restart musterd
wait_for 30 "musterd with exec" muster status

step "keys, and a signed image with its loader"
muster_of_user image keys "$work/keys"
build stateful --keys "$work/keys"
expect_equal 0 "$RC" "exit code"
expect_contains "$SAID" "is signed: signed.efi, loader.efi" "the build"
digest=$(muster -o json image show stateful | read_json 'print(value["digest"])')
expect_contains "$(muster image show stateful)" "muster.image=stateful@${digest:0:12} muster.size=" "what it is signed for"
mkdir -p "$site/playbooks/roles/boot_server/files"
cp "$work/keys/snponly.efi" "$site/playbooks/roles/boot_server/files/"
sed -i 's/^vars:/&\n  boot: stateful\n  boot_join: approve\n  boot_signed: enroll\n  boot_server_loader: snponly.efi/' \
  "$inventory"
muster inventory apply "$work/inventory" >/dev/null
apply "$site/playbooks/boot.yaml"
expect_applied 0 "the signed loader"

step "firmware without keys is given them"
power_on reboot=off
wait_for $limit "the keys" has_step enrolled
wait_for 60 "its reboot" is_off
power_off

step "the machine is switched on, and nothing else: it writes its disk, boots from there, and asks to be let in"
power_on first=network reboot=yes
wait_for $limit "the disk" has_step written
wait_for $limit "a boot from the disk" says_on_console "muster: root a is as its digest says"
says_on_console "Secure Boot is on" || fail "Secure Boot is off"
wait_for $limit "a machine that waits" is_waiting
muster node approve d001 --key "$(node_json enrollment_fingerprint)"
wait_for 120 "its agent" is_connected
wait_for 60 "the root to stay" has_event boot.healthy
expect_contains "$(on_node cat /sys/kernel/security/lockdown)" "[integrity]" "the kernel's lockdown"
wait_for 60 "the facts of the node" has_argument muster.slot=a
uuid=$(node_json uuid)
before=$(boot_id)
power_off

step "the loader's entries have no word in it"
at=$(find_text "# words muster.image=")
printf 'options ' | write_at "$at"
power_on first=disk reboot=yes
wait_for $limit "the agent after the reboot" is_connected_after "$before"
expect_equal "$uuid" "$(node_json uuid)" "the node"
expect_contains "$(arguments)" "muster.server=http://$address:7483" "the command line"
before=$(boot_id)
power_off
printf '# words ' | write_at "$at"

step "one other byte in the kernel image on the disk, in the root on the disk"
at=$(find_text "muster.sha256=")
flip_at $((at + 20))
power_on first=disk reboot=off
wait_for $limit "the denial" says_on_console "Access Denied"
! says_on_console "Linux version" || fail "a kernel ran"
power_off
flip_at $((at + 20))
at=$(partition_at muster-root_a)
flip_at $((at + 1000000))
power_on first=disk reboot=off
wait_for $limit "the refusal of the root" says_on_console "but is to have"
! says_on_console "Welcome to" || fail "a system came up"
power_off
flip_at $((at + 1000000))

step "another image is written to the other root, and is the same node"
mkdir -p "$work/site/images/stateful/second/etc"
touch "$work/site/images/stateful/second/etc/second"
sed -i 's/^  - disk-boot$/&\n  - stateful\/second/' "$work/site/images/stateful/image.yaml"
chown -R "$user:" "$work/site"
build stateful --keys "$work/keys"
expect_equal 0 "$RC" "exit code"
power_on first=network reboot=yes
wait_for $((2 * limit)) "the agent on the other root" is_connected_after "$before"
wait_for 60 "the facts of the node" has_argument muster.slot=b
expect_equal "$uuid" "$(node_json uuid)" "the node"
on_node test -e /etc/second
muster boot show
power_off
echo PASSED
