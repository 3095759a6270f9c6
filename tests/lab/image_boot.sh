#!/bin/bash
# A machine without a disk boots the shipped worker's image by Muster alone: its firmware asks by DHCP, gets
# iPXE by TFTP from the role boot_server, and that its script, kernel and initramfs from musterd; the initramfs
# fetches the root and compares it. Of a root with one other byte it boots nothing, and both is seen in
# `muster boot show`. `./dev nightly boot` runs it: without hardware support a boot takes minutes.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"
# shellcheck source=tests/lab/image_user.sh
source "$(dirname "$0")/image_user.sh"

readonly mac=52:54:00:99:00:01 limit=600
readonly netns=muster-$LAB_TEST_NAME
emulator=
site=$(mktemp -d)  # root's own; the user's is not root's to trust
power_off() {
  [[ -z $emulator ]] || { kill "$emulator" && wait "$emulator"; } 2>/dev/null || true
  emulator=
}
clean() {
  power_off
  rm -rf "$site"
  remove_image_user
}
says_on_console() { says -a "$1" cat "$work/console"; }  # TEXT
# A UEFI machine on the nodes' switch, with nothing but a network card whose own boot program is left out.
power_on() {
  : >"$work/console"
  cp /usr/share/OVMF/OVMF_VARS_4M.fd "$work/vars.fd"
  ip netns exec "$netns" qemu-system-x86_64 -machine q35 -cpu max -smp 2 -m 2048 -display none -monitor none \
    -no-reboot -drive if=pflash,format=raw,readonly=on,file=/usr/share/OVMF/OVMF_CODE_4M.fd \
    -drive "if=pflash,format=raw,file=$work/vars.fd" -device virtio-rng-pci \
    -netdev tap,id=n0,ifname=boot0,script=no,downscript=no \
    -device "virtio-net-pci,netdev=n0,mac=$mac,romfile=" -serial "file:$work/console" &
  emulator=$!
}
# The steps of the machine's last boot, one word each.
steps() {
  muster -o json boot show d001 | read_json '
print(*[step["phase"].removeprefix("BOOT_PHASE_").lower() for step in value["nodes"][0].get("last", {}).get("steps", [])])'
}
has_step() { [[ " $(steps) " == *" $1 "* ]]; }  # STEP
next() { muster -o json boot show d001 | read_json 'print(value["nodes"][0]["next"])'; }

start_cluster 1
make_image_user
address=$(awk '$2 == "login1" {print $1}' "$(lab_folder)/hosts")
network=${address%.*}
mkdir "$work/inventory"
cp "$(lab_folder)"/inventory/* "$work/inventory/"
cat >"$work/inventory/boot.yaml" <<YAML
nodes:
  d001: {role: compute, address: $network.240, mac: "$mac"}
vars:
  boot_server_host: login1
  boot_server_interface: host0
  boot_server_dhcp_range: $network.200,$network.250,255.255.255.0
YAML
muster inventory apply "$work/inventory" >/dev/null
lab exec login1 sed -i "s/^boot_listen: .*/boot_listen: $address:7483/" /etc/muster/controller.yaml
lab exec login1 systemctl restart musterd
wait_for 30 "musterd with its boot server" muster status

step "the role boot_server"
cp -r playbooks "$site/"
cat >"$site/playbooks/boot.yaml" <<YAML
- play: boot server
  hosts: login1
  roles:
    - base
    - {role: boot_server, needs: [base]}
YAML
join login1
apply "$site/playbooks/boot.yaml"
expect_applied 0 "the boot server"
apply "$site/playbooks/boot.yaml" --detailed-exitcode
expect_applied 0 "the boot server, again"
expect_equal active "$(lab exec login1 systemctl is-active muster-boot)" "its unit"

step "the build"
build debian-worker
expect_equal 0 "$RC" "exit code"
muster boot set d001 debian-worker --once
ip -n "$netns" tuntap add dev boot0 mode tap
ip -n "$netns" link set boot0 master br0 up

step "a machine without a disk boots the image"
power_on
wait_for $limit "the script" has_step script
wait_for $limit "kernel and initramfs" has_step initrd
wait_for $limit "the root" has_step switched
expect_equal "script kernel initrd root verified switched" "$(steps)" "the steps of the boot"
expect_equal disk "$(next)" "what it boots next, the order being used up"
step "the root is there"
wait_for $limit "a system that is up" says_on_console "d001 login:"
has_keys() { [[ $(lab exec login1 ssh-keyscan -T 5 "$network.240" 2>/dev/null) == *ssh-ed25519* ]]; }
wait_for $limit "a way in, with keys of its own" has_keys
expect_contains "$(lab exec login1 cat /var/lib/muster-boot/leases)" "$network.240 d001" "its lease, the inventory's"
expect_contains "$(muster event list d001 --kind boot)" "boot.verified" "its events"
muster boot show
power_off

step "without an order it goes on to its disk"
power_on
wait_for $limit "the script of a disk" says_on_console "d001 boots from its disk"
power_off

step "a root with one other byte is not booted"
root=$(muster -o json image show debian-worker | read_json '
print(*[a["sha256"] for a in value["manifest"]["artifacts"] if a["name"] == "root.squashfs"])')
# shellcheck disable=SC2016  # the shell there expands it
lab exec login1 sh -c 'file=/var/lib/muster-controller/images/artifacts/$1 && size=$(stat -c %s "$file") &&
  printf "\377\000" | dd of="$file" bs=1 seek=$((size / 2)) conv=notrunc status=none' flip "${root:0:2}/${root:2}"
muster boot set d001 debian-worker
power_on
wait_for $limit "the refusal" has_step refused
expect_contains "$(muster boot show d001)" "but is to have $root" "both digests"
says_on_console "but is to have $root" || fail "the console does not say it"
! says_on_console "Welcome to" || fail "a system came up"
