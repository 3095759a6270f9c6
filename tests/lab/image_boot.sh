#!/bin/bash
# A machine without a disk boots the shipped worker's image by Muster alone: its firmware asks by DHCP, gets
# iPXE by TFTP from the role boot_server, and that its script, kernel and initramfs from musterd; the initramfs
# fetches the root in chunks, although no other machine has one, and compares it. Of a root with one other byte it
# boots nothing, and both is seen in `muster boot show`. A machine that no inventory has tells of itself, is adopted
# and boots as the node that it has become. `./dev nightly boot` runs it: without hardware support a boot takes minutes.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"
# shellcheck source=tests/lab/image_user.sh
source "$(dirname "$0")/image_user.sh"
# shellcheck source=tests/lab/image_machine.sh
source "$(dirname "$0")/image_machine.sh"

start_boot_server
apply "$site/playbooks/boot.yaml" --detailed-exitcode
expect_applied 0 "the boot server, again"
expect_equal active "$(lab exec login1 systemctl is-active muster-boot)" "its unit"

step "the build"
build debian-worker
expect_equal 0 "$RC" "exit code"
muster boot set d001 debian-worker --once

step "a machine without a disk boots the image"
boot_in_chunks
expect_equal disk "$(next)" "what it boots next, the order being used up"
step "the root is there"
wait_for $limit "a system that is up" says_on_console "d001 login:"
has_keys() { [[ $(lab exec login1 ssh-keyscan -T 5 "$network.231" 2>/dev/null) == *ssh-ed25519* ]]; }
wait_for $limit "a way in, with keys of its own" has_keys
expect_contains "$(lab exec login1 cat /var/lib/muster-boot/leases)" "$network.231 d001" "its lease, the inventory's"
expect_contains "$(muster event list d001 --kind boot)" "boot.verified" "its events"
muster boot show
power_off

step "without an order it goes on to its disk"
power_on
wait_for $limit "the script of a disk" says_on_console "d001 boots from its disk"
power_off

step "a machine that no inventory has tells of itself and is adopted"
small_image small debian-worker 's/^  - ram-boot$/&\n  - discovery/'
build small
expect_equal 0 "$RC" "exit code"
sed -i 's/^vars:$/&\n  boot_unknown: small/' "$inventory"
muster inventory apply "$work/inventory" >/dev/null
mac=$(sed -n "s/^mac=//p" "$machine/hardware")
stranger=52:54:00:99:00:02
power_on mac="$stranger"
has_told() {
  muster -o json node discover list | read_json '
assert [m for m in value["machines"] if m["mac"] == "'$stranger'" and int(m["facts"]["memory"]["total_mib"]) > 1000]'
}
wait_for $limit "what it tells" has_told
muster node discover list
wait_for 30 "a word on the console" says_on_console "waits to be adopted"
show muster node discover adopt d002 --like d001 --address "$network.221" --bmc-address "$network.242" --site "$work" \
  --playbook "$site/playbooks/boot.yaml" --yes
expect_contains "$(cat "$work"/inventory/*.yaml)" "$stranger" "the inventory"
expect_contains "$(lab exec login1 cat /etc/muster-boot/dnsmasq.conf)" "dhcp-host=$stranger,$network.221,d002" \
  "its address"
wait_for 120 "its reboot" is_off
power_off
power_on
wait_for $limit "the boot of a node" says_on_console "d002 boots from its disk"
expect_contains "$(lab exec login1 cat /var/lib/muster-boot/leases)" "$network.221 d002" "its lease, the inventory's"
power_off

step "a root with one other byte is not booted, in chunks or whole"
root=$(muster -o json image show small | read_json '
print(*[a["sha256"] for a in value["manifest"]["artifacts"] if a["name"] == "root.squashfs"])')
# shellcheck disable=SC2016  # the shell there expands it
lab exec login1 sh -c 'file=/var/lib/muster-controller/images/artifacts/$1 && size=$(stat -c %s "$file") &&
  printf "\377\000" | dd of="$file" bs=1 seek=$((size / 2)) conv=notrunc status=none' flip "${root:0:2}/${root:2}"
muster boot set d001 small
power_on mac="$mac"
wait_for $limit "the refusal" has_step refused
expect_contains "$(muster boot show d001)" "but is to have $root" "both digests"
says_on_console "but is to have $root" || fail "the console does not say it"
! says_on_console "Welcome to" || fail "a system came up"
echo PASSED
