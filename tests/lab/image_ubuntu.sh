#!/bin/bash
# A machine without a disk boots an image of Ubuntu 24.04: the shipped worker's definition with the changes that
# docs/images.md lists for Ubuntu. The busybox of its initramfs lacks programs that the boot needs. `./dev nightly boot` runs it, where
# Ubuntu's keyring is there: without hardware support a boot takes minutes.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"
# shellcheck source=tests/lab/image_user.sh
source "$(dirname "$0")/image_user.sh"
# shellcheck source=tests/lab/image_machine.sh
source "$(dirname "$0")/image_machine.sh"

[[ -e /usr/share/keyrings/ubuntu-archive-keyring.gpg ]] || { echo "no keyring of Ubuntu's"; exit 77; }
start_boot_server

step "the build"
small_image noble debian-worker 's/^distribution: .*/distribution: ubuntu24.04/; s/^snapshot: .*//
s/^kernel: .*/kernel: linux-image-virtual/; /^  - firmware-linux-free/d'
build noble
expect_equal 0 "$RC" "exit code"
muster image show noble
muster boot set d001 noble --once

step "a machine boots it, in chunks"
boot_in_chunks
wait_for $limit "a system that is up" says_on_console "d001 login:"
wait_for $limit "host keys, before somebody connects" says_on_console "generating new host keys"
has_keys() { [[ $(lab exec login1 ssh-keyscan -T 5 "$network.231" 2>/dev/null) == *ssh-ed25519* ]]; }
wait_for $limit "a way in, with keys of its own" has_keys
power_off
echo PASSED
