#!/bin/bash
# An image from its definition: built by an ordinary user from the site's own roles, kept by the
# controller, the same again from the same definition, and refused where something is wrong with it.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"
# shellcheck source=tests/lab/image_user.sh
source "$(dirname "$0")/image_user.sh"

digest() { muster image show worker -o json | read_json 'print(value["digest"])'; }
in_image() { unsquashfs -cat "$work/image/root.squashfs" "$1"; }  # PATH
list() { zcat "$work/image/files"; }

start_cluster 1
mkdir "$work/inventory"
cp "$(lab_folder)"/inventory/* "$work/inventory/"
cat >"$work/inventory/snapshots.yaml" <<YAML
snapshots:
  debian:
    uris: "$(package_cache)/deb.debian.org/debian"
    suites: [bookworm]
    components: [main]
    architectures: [amd64]
    signed_by: /usr/share/keyrings/debian-archive-keyring.gpg
YAML
muster inventory apply "$work/inventory" >/dev/null
muster snapshot create today
make_image_user
mkdir -p "$work/site/images/worker/files/etc/site"
small_image worker debian-worker 's/^kernel: .*/snapshot: today\n&/; s/^  - ram-boot$/&\n  - worker\/files/'
echo "of the site" >"$work/site/images/worker/files/etc/site/note"
chmod 660 "$work/site/images/worker/files/etc/site/note"
chown -R "$user:" "$work"

step "what is wrong with a definition is said before anything is built"
sed -i 's/^  - munge$/  - mung/' "$work/site/images/worker/image.yaml"
build worker
expect_equal 1 "$RC" "exit code"
expect_contains "$SAID" "images/worker/image.yaml:" "the place of a role that does not exist"
sed -i 's/^  - mung$/  - munge/' "$work/site/images/worker/image.yaml"
build work
expect_contains "$SAID" "the site has debian-rescue, debian-worker, debian-worker-disk, worker" "what there is instead"

step "the build"
build worker
expect_equal 0 "$RC" "exit code"
first=$(digest)
expect_contains "$(muster image list)" "worker" "the controller's list"
muster image verify worker
muster image export worker -o "$work/image"
expect_equal "today" "$(muster image show worker -o json | read_json 'print(value["manifest"]["snapshot"])')" "its snapshot"

step "what is in the root, and what is not"
[[ $(in_image etc/machine-id) == "" ]] || fail "the root has a machine's id"
expect_equal "of the site" "$(in_image etc/site/note)" "a file of the definition"
expect_equal "f 640 0 0" "$(list | awk '$7 == "/etc/site/note" {print $1, $2, $3, $4}')" "its owner and mode"
for kept in /usr/bin/muster-agent /usr/sbin/slurmd /etc/systemd/system/multi-user.target.wants/slurmd.service \
  /etc/systemd/system/multi-user.target.wants/munge.service /usr/local/lib/muster/wait-for-gpus; do
  says -E " $kept\$" list || fail "$kept is not in the root"
done
for own in /etc/hostname /etc/munge/munge.key /etc/ssh/ssh_host_ /var/lib/apt/lists/. /var/log/dpkg.log /usr/share/man/man1 \
  /usr/sbin/policy-rc.d /etc/apt/apt.conf.d/99mmdebstrap; do
  ! says -E "^[^d].* $own" list || fail "$own is in the root"
done
slurm_id=$(in_image etc/passwd | awk -F: '$1 == "slurm" {print $3}')
expect_equal "$slurm_id $slurm_id" \
  "$(list | awk '$7 == "/var/lib/slurm/slurmd" {print $3, $4}')" "the owner of slurmd's folder"
! says -E "$(hostname)" in_image etc/hosts || fail "the root knows the machine that built it"
unsquashfs -q -n -d "$work/root" "$work/image/root.squashfs"
cp "$work/image/initrd" "$work/root/tmp/initrd"
says -x scripts/muster chroot "$work/root" lsinitramfs /tmp/initrd || fail "the initramfs does not fetch a root"

step "the same definition gives the same image"
build worker
expect_equal 0 "$RC" "exit code"
expect_contains "$SAID" "from the cache" "the layer of packages"
expect_equal "$first" "$(digest)" "the digest"

step "another variable of a role gives another one, and diff tells how"
sed -i 's/^variables:/&\n  base_nofile: 4321/' "$work/site/images/worker/image.yaml"
build worker
expect_equal 0 "$RC" "exit code"
[[ $(digest) != "$first" ]] || fail "the digest is the same"
SAID=$(muster image diff "worker@${first:0:12}" worker --files)
expect_contains "$SAID" "/etc/security/limits.d/50-muster.conf" "the file that differs"
expect_contains "$SAID" "no package differs" "packages"

step "what earlier roles have made comes from the cache, and the image is the one that a whole build makes"
sed -i 's/^variables:/&\n  slurm_gpu_wait_seconds: 121/' "$work/site/images/worker/image.yaml"
build worker
expect_equal 0 "$RC" "exit code"
expect_contains "$SAID" "6 roles, 5 of them from the cache" "the layers of roles"
changed=$(digest)
rm "$work"/.cache/muster/images/role-*.tar
build worker
expect_contains "$SAID" "6 roles, 0 of them from the cache" "a build without them"
expect_equal "$changed" "$(digest)" "the digest"

step "a private key does not become a part of an image"
cat >>"$work/site/playbooks/roles/users/tasks/main.yaml" <<'YAML'
- name: somebody's key
  file: {path: /root/key.pem, content: "-----BEGIN PRIVATE KEY-----"}
YAML
build worker
expect_equal 1 "$RC" "exit code"
expect_contains "$SAID" "/root/key.pem" "the key's path"
[[ -z $(ls "$work/.cache/muster/images/build" 2>/dev/null) ]] || fail "the build left its folder"

step "who has no subordinate ids is told what to do"
usermod --del-subuids "$(awk -F: -v user="$user" '$1 == user {print $2 "-" $2 + $3 - 1}' /etc/subuid)" "$user"
build worker
expect_equal 1 "$RC" "exit code"
expect_contains "$SAID" "usermod --add-subuids" "the remedy"
