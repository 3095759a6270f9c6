#!/bin/bash
# Secure Boot with the cluster's own keys: a machine whose firmware has none is given them by its first boot, and then
# boots a signed kernel image and what that names, and joins. Of an image that was revoked, of a kernel, a command line
# or a root with one other byte, and from a loader that nobody has signed, it boots nothing. `./dev nightly boot` runs
# it: without hardware support a boot takes minutes.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"
# shellcheck source=tests/lab/image_user.sh
source "$(dirname "$0")/image_user.sh"
# shellcheck source=tests/lab/image_machine.sh
source "$(dirname "$0")/image_machine.sh"

script() { ip netns exec "$netns" curl -sS "http://$address:7483/boot.ipxe?mac=$mac"; }
digest() { muster -o json image show signed | read_json 'print(value["digest"])'; }
# The file of an artifact on login1; one that was changed comes back from its copy.
artifact() {  # NAME
  muster -o json image show signed | read_json '
artifacts = value["manifest"]["artifacts"] + [value["signed_kernel"]["artifact"]]
sha256 = [a["sha256"] for a in artifacts if a["name"] == sys.argv[1]][0]
print(f"/var/lib/muster-controller/images/artifacts/{sha256[:2]}/{sha256[2:]}")' "$1"
}
change() {  # NAME [PATTERN]: one bit of the byte behind the last place with the pattern, or in the middle
  # shellcheck disable=SC2016  # the shell there expands it
  lab exec login1 sh -c 'cp "$1" /root/whole && at=$(($(stat -c %s "$1") / 2)) &&
    if [ -n "$2" ]; then at=$(LC_ALL=C grep -abo "$2" "$1" | tail -n 1) && at=$((${at%%:*} + ${#2})); fi &&
    byte=$(dd if="$1" bs=1 skip="$at" count=1 status=none | od -An -tu1) &&
    printf "\\$(printf %o $((byte ^ 1)))" | dd of="$1" bs=1 seek="$at" conv=notrunc status=none &&
    ! cmp -s "$1" /root/whole' change "$(artifact "$1")" "${2:-}"
}
restore() { lab exec login1 cp /root/whole "$(artifact "$1")"; }  # NAME
# The machine is on, and its firmware has denied what was changed.
expect_denied() {  # WHAT
  power_on
  # The console is of this boot, and the steps may still be those of the one before.
  wait_for $limit "the denial of $1" says_on_console "the firmware does not start the signed kernel image"
  wait_for 30 "its report" has_step denied
  expect_equal "script kernel denied" "$(steps)" "the steps of a boot with another $1"
  expect_contains "$(muster boot show d001)" "does not start the signed kernel image" "the reason"
  ! says_on_console "Linux version" || fail "a kernel ran"
  power_off
}

# Has d001's firmware told of it.
revoke() {  # DIGEST KEYS
  muster_of_user image revoke "signed@$1" --keys "$2"
  cp "$2/dbx.auth" "$2/dbx.list" "$site/playbooks/roles/boot_revocations/files/"
  apply "$site/playbooks/revocations.yaml" -e boot_revocations=dbx.auth --detailed-exitcode
}

machine_firmware=secure start_boot_server
mac=$(sed -n "s/^mac=//p" "$machine/hardware")
lab machine d001 disk=no tpm=no reboot=off
small_image signed debian-worker 's/^files:$/&\n  - unsigned-module/'
# A module as DKMS makes one: beside those of the kernel's package, before which it is taken, and unsigned.
hooks=$work/site/images/unsigned-module/etc/kernel/postinst.d
mkdir -p "$hooks"
cat >"$hooks/zz-unsigned-module" <<'HOOK'
#!/bin/sh
set -eu
strip() {  # FROM TO
  # shellcheck disable=SC2046  # four numbers
  set -- "$1" "$2" $(tail -c 32 "$1" | head -c 4 | od -An -tu1)
  head -c "-$((($5 * 256) + $6 + 40))" "$1" >"$2"
}
mkdir -p "/lib/modules/$1/updates"
strip "/lib/modules/$1/kernel/drivers/net/dummy.ko" "/lib/modules/$1/updates/dummy.ko"
depmod "$1"
HOOK
chmod 755 "$hooks/zz-unsigned-module"
lab exec login1 sed -i 's/^exec: .*/exec: "on"/' /etc/muster/controller.yaml
lab exec login1 systemctl restart musterd
wait_for 30 "musterd with exec" muster status
chown -R "$user:" "$work/site"

step "keys and the build"
muster_of_user image keys "$work/keys"
expect_equal 600 "$(stat -c %a "$work/keys/db.key")" "who reads the key"
build signed
expect_equal 0 "$RC" "exit code"
unsigned=$(digest)
sed -i 's/^vars:/&\n  boot: signed\n  boot_join: approve\n  boot_signed: enroll/' "$inventory"
muster inventory apply "$work/inventory" >/dev/null
expect_contains "$(script)" "is not signed" "what a machine is told before"

step "a signed loader, signed modules, a signed kernel image"
mkdir -p "$site/playbooks/roles/boot_server/files"
cp "$work/keys/snponly.efi" "$site/playbooks/roles/boot_server/files/"
sed -i 's/^vars:/&\n  boot_server_loader: snponly.efi/' "$inventory"
muster inventory apply "$work/inventory" >/dev/null
apply "$site/playbooks/boot.yaml"
expect_applied 0 "the signed loader"
build signed --keys "$work/keys"
expect_equal 0 "$RC" "exit code"
expect_contains "$SAID" "1 module of the root's own" "the build"
expect_contains "$SAID" "is signed: signed.efi" "the build"
whole=$(digest)
[[ $whole != "$unsigned" ]] || fail "the module is not signed"
muster_of_user image sign signed --keys "$work/keys"
expect_equal "$whole" "$(digest)" "the digest of an image that is signed again"
expect_contains "$(muster image show signed)" "muster.server=http://$address:7483" "what it is signed for"
expect_contains "$(muster image verify signed)" "everything is as it was kept" "the image"
expect_contains "$(script)" "signed.efi" "what a machine is told now"

step "firmware without keys is given them"
power_on
wait_for $limit "the keys" has_step enrolled
wait_for 60 "its reboot" is_off
says_on_console "the firmware has the cluster's keys now" || fail "the console does not say it"
power_off

step "it boots what is signed, and joins"
power_on
wait_for $limit "the root" has_step switched
expect_equal "script kernel root verified switched" "$(steps)" "the steps of the boot"
says_on_console "Secure Boot is on" || fail "Secure Boot is off"
wait_for $limit "a machine that waits" is_waiting
muster node approve d001 --key "$(node_json enrollment_fingerprint)"
wait_for 120 "its agent" is_connected
expect_contains "$(muster exec d001 cat /sys/kernel/security/lockdown)" "[integrity]" "the kernel's lockdown"
step "its kernel takes signed modules alone"
# shellcheck disable=SC2016  # the shell there expands it
module='/lib/modules/$(uname -r)/updates/dummy.ko'
expect_contains "$(muster exec d001 -- sh -c "modinfo -F signer $module; modprobe dummy && grep dummy /proc/modules")" \
  "Muster db" "its module"
muster exec d001 -- sh -c "rmmod dummy; head -c -40 $module >/tmp/dummy.ko; insmod /tmp/dummy.ko" &&
  fail "an unsigned module was taken"
muster boot show

step "an image that was signed once is revoked, and the one that runs is not"
muster_of_user image sign "signed@$unsigned" --keys "$work/keys"
cp -r "$work/keys" "$work/other-keys"
chown -R "$user:" "$work/other-keys"
cat >"$site/playbooks/revocations.yaml" <<'YAML'
- play: what was revoked
  hosts: d001
  roles:
    - {role: boot_revocations, when: boot_revocations != ""}
YAML
revoke "$whole" "$work/other-keys"
expect_applied 3 "the image that runs"
expect_contains "$APPLY_OUTPUT" "this node runs signed@${whole:0:12}, which was revoked" "the reason"
expect_contains "$(muster exec d001 /usr/local/lib/muster/boot-revocations check 2>&1 || true)" \
  "still starts signed@${whole:0:12}" "what the firmware knows"
revoke "$unsigned" "$work/keys"
expect_applied 2 "the other image"
muster exec d001 /usr/local/lib/muster/boot-revocations check
revoke "$unsigned" "$work/keys"
expect_applied 0 "the same once more"
power_off
muster boot set d001 "signed@$unsigned"
expect_denied "image, which was revoked"
muster boot clear d001

step "one other byte in the kernel, in the command line, in the root"
change signed.efi HdrS
expect_denied kernel
restore signed.efi
change signed.efi muster.sha256=
expect_denied "command line"
restore signed.efi
change root.squashfs
power_on
wait_for $limit "the refusal of the root" says_on_console "but is to have"
wait_for 30 "its report" has_step refused
! says_on_console "Welcome to" || fail "a system came up"
power_off
restore root.squashfs

step "a loader that nobody has signed"
sed -i '/boot_server_loader/d' "$inventory"
muster inventory apply "$work/inventory" >/dev/null
apply "$site/playbooks/boot.yaml"
expect_applied 0 "Debian's loader"
before=$(muster -o json boot show d001)
power_on
wait_for $limit "the firmware's word" says_on_console "Access Denied"
expect_equal "$before" "$(muster -o json boot show d001)" "the boots"
echo PASSED
