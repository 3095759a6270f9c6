#!/bin/bash
# The shipped worker's image boots from nothing: an emulated machine without a disk fetches its root over
# HTTP, compares it with its digest, and comes up; of a root with one other byte it boots nothing.
# `./dev nightly boot` runs it: without hardware support a boot takes over a minute.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"
# shellcheck source=tests/lab/image_user.sh
source "$(dirname "$0")/image_user.sh"

readonly port=8099 limit=400
pids=()
clean() {
  ((${#pids[@]} == 0)) || kill "${pids[@]}" 2>/dev/null || true
  remove_image_user
}
readonly inside=(nsenter --net="/run/netns/muster-$LAB_TEST_NAME" --)
says_on_console() { says -a "$1" cat "$work/console"; }  # TEXT
# Boots a machine with the root's digest on its command line; its console is in $work/console.
boot() {  # SHA256
  : >"$work/console"
  "${inside[@]}" qemu-system-x86_64 -machine q35 -cpu max -smp 2 -m 2048 -display none -monitor none -no-reboot \
    -kernel "$work/image/kernel" -initrd "$work/image/initrd" \
    -append "boot=muster ip=dhcp muster.root=http://10.0.2.2:$port/root.squashfs muster.sha256=$1 console=ttyS0,115200 systemd.journald.forward_to_console=1" \
    -netdev user,id=n0 -device virtio-net-pci,netdev=n0 -serial "file:$work/console" &
  pids+=($!)
}

start_cluster 1
make_image_user
step "the build"
build debian-worker
expect_equal 0 "$RC" "exit code"
muster image export debian-worker -o "$work/image"
digest=$(sha256sum <"$work/image/root.squashfs" | cut -d' ' -f1)
"${inside[@]}" python3 -m http.server --bind 127.0.0.1 --directory "$work/image" $port >/dev/null 2>&1 &
pids+=($!)

step "a machine without a disk boots the image"
boot "$digest"
wait_for $limit "the root" says_on_console "muster: the root is as its digest says"
step "the root is there"
wait_for $limit "a system that is up" says_on_console "Reached target multi-user.target"
wait_for 60 "a way in, with keys of its own" says_on_console "Server listening on"
step "it is up"
kill "${pids[-1]}"
unset "pids[-1]"

step "a root with one other byte is not booted"
size=$(stat -c %s "$work/image/root.squashfs")
printf '\377\000' | dd of="$work/image/root.squashfs" bs=1 seek=$((size / 2)) conv=notrunc status=none
boot "$digest"
wait_for $limit "the refusal" says_on_console "but is to have $digest"
! says_on_console "Welcome to" || fail "a system came up"
