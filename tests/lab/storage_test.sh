#!/bin/bash
# Storage: disks that are formatted only where nothing is lost, BeeGFS of both series as stand-ins, with
# the faults of its clients, scratch folders and BeeOND that live as long as their jobs.
# shellcheck disable=SC2016  # what stands in single quotes is for the node's shell
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"

work=$(mktemp -d)
loops=()
# A loop device that is in use goes with its last user.
clean() {
  local loop
  for loop in "${loops[@]}"; do losetup --detach "$loop"; done
  rm -rf "$work"
}

disk() {  # NAME: a disk of c002 as udev would show it
  truncate --size 400M "$work/$1"
  loops+=("$(losetup --find --show "$work/$1")")
  lab exec c002 sh -c 'mkdir -p /dev/disk/by-id && mknod "/dev/$1" b 7 "$2" && ln -s "../../$1" "/dev/disk/by-id/virtio-$1"' \
    sh "$1" "${loops[-1]#/dev/loop}"
}
signature() { blkid -p -o export "$1" | grep -E '^(TYPE|UUID|LABEL)=' | xargs; }  # LOOP

set_inventory() {  # SERIES BUILD [WORDS FOR THE DISK OF THE METADATA]
  local file=$work/inventory/cluster.yaml
  mkdir -p "$work/inventory"
  # The second worker serves instead.
  sed -e '/^  c002:/s/compute/storage/' -e '/^groups:/d' -e '/^vars:/d' "$(lab_folder)/inventory/cluster.yaml" >"$file"
  cat >>"$file" <<YAML
groups:
  login: {vars: {ntp_serve: true}}
  compute:
    vars:
      beegfs_mount: /mnt/beegfs
      beegfs_client_build: $2
      local_scratch: /scratch_local
      beeond_path: /scratch_local
      beeond_seconds: 20
      beeond_ssh_public_key: "$(<"$work/key.pub")"
  storage:
    vars:
      beegfs_disks:
        - {service: metadata, path: /data/meta, device: /dev/disk/by-id/virtio-meta${3:+, $3}}
        - {service: storage, path: /data/chunks, device: /dev/disk/by-id/virtio-chunks}
vars:
  apt_proxy: "$(sed -n 's/.*apt_proxy: "\([^"]*\)".*/\1/p' "$(lab_folder)/inventory/cluster.yaml")"
  ntp_servers: [login1]
  slurm_extra_config: ["Prolog=/etc/slurm/prolog.d/*", "Epilog=/etc/slurm/epilog.d/*"]
  beegfs_management_host: c002
  beegfs_version: "$1"
  beegfs_repository_uris: ["file:/srv/repo/beegfs_$1"]
  beegfs_repository_key: |
$(sed 's/^/    /' "$work/repo/beegfs.asc")
YAML
  muster inventory apply "$work/inventory" >/dev/null
}

is_mounted() { [[ $(lab exec c001 findmnt -n -o SOURCE,FSTYPE /mnt/beegfs | xargs) == "beegfs_nodev tmpfs" ]]; }
management_said() { says -G "$1" lab exec c002 journalctl -q -u beegfs-mgmtd -o cat; }
unmount() { lab exec c001 systemctl stop mnt-beegfs.mount; }
slurmd_said() { says -F "$1" lab exec c001 journalctl -q -u slurmd -o cat; }
roles_that_failed() { sed -n 's/^c[0-9]*: failed  \([a-z_]*\):.*/\1/p' <<<"$APPLY_OUTPUT" | sort -u | xargs; }

on_workers() { local node; for node in c001 c003; do lab exec "$node" sh -c "$1"; done; }  # PROGRAM
with_beeond() { lab exec login1 runuser -u nobody -- srun --immediate=60 -N2 --exclusive --constraint=beeond --chdir=/ "$@" </dev/null; }  # CMD…
job_field() { lab exec login1 scontrol --oneliner show job "$1" | sed -n "s/.* $2=\([^ ]*\).*/\1/p"; }  # JOB FIELD
is_over() { [[ $(job_field "$1" JobState) != @(PENDING|RUNNING|COMPLETING|CONFIGURING) ]]; }  # JOB
nothing_of_a_job() {
  on_workers '! mountpoint -q /mnt/beeond && [ -z "$(ls -A /scratch_local /run/muster-beeond | grep -v :)" ]'
}
# One file system for a job of both workers, and nothing of it afterwards.
beeond_serves() {
  local seen
  seen=$(with_beeond sh -c 'touch "/mnt/beeond/$SLURM_PROCID" && findmnt -n -o SOURCE /mnt/beeond && stat -c "%U %a" /mnt/beeond' | sort | uniq -c | xargs)
  expect_equal "2 beeond_ondemand 2 nobody 700" "${seen//beegfs_/beeond_}" "a job with BeeOND"
  wait_for 20 "nothing is left of it" nothing_of_a_job
  expect_equal "start stop" "$(lab exec c001 cat /var/log/beeond.calls | grep -oE '^(start|stop) ' | xargs)" "calls on the first node"
  expect_equal "" "$(lab exec c003 cat /var/log/beeond.calls | grep -E '^(start|stop) ' | xargs)" "calls on the other"
  on_workers 'rm -f /var/log/beeond.calls'
}

start_cluster 3 bookworm --prepared
mkdir "$work/repo"
ssh-keygen -q -t ed25519 -N '' -f "$work/key"
lab muster secret set beeond_ssh_key --roles beeond <"$work/key" >/dev/null
tests/fakes/beegfs/make_repository "$work/repo"
for node in login1 c001 c002 c003; do
  tar c -C "$work" repo | lab exec "$node" tar x --no-same-owner -C /srv
done
disk meta
disk chunks
mkfs.ext4 -q -L precious "${loops[0]}"
set_inventory 7.4 dkms "label: meta"
join 'login1,c[001-003]'

step "a disk that holds data stays as it is, and its node's other roles finish"
before=$(signature "${loops[0]}")
apply playbooks/site.yaml --limit c002
expect_applied 3 "a disk that holds data"
uuid=$(sed -n 's/.*UUID=\([^ ]*\).*/\1/p' <<<"$before")
expect_contains "$APPLY_OUTPUT" "/dev/disk/by-id/virtio-meta holds ext4 'precious' (uuid $uuid), but the label should be 'meta'" "what it holds"
expect_contains "$APPLY_OUTPUT" "replaces_uuid: $uuid" "the remedy"
expect_equal "$before" "$(signature "${loops[0]}")" "the disk"
expect_equal beegfs_server "$(roles_that_failed)" "what failed"

step "its uuid named: servers, the client and the scratch folder"
set_inventory 7.4 dkms "label: meta, replaces_uuid: $uuid"
apply playbooks/site.yaml
expect_applied 0 "the rollout"
expect_contains "$(signature "${loops[0]}")" "LABEL=meta" "the disk of the metadata"
[[ $(signature "${loops[0]}") != *"$uuid"* ]] || fail "the disk was not formatted"
expect_equal "TYPE=xfs" "$(signature "${loops[1]}" | grep -o 'TYPE=xfs')" "the disk of the storage"
for path in /data/meta /data/chunks; do lab exec c002 mountpoint -q "$path" || fail "$path is not mounted"; done
lab exec c002 test -e /data/meta/beegfs_metadata/format.conf || fail "the metadata are not on their disk"
is_mounted || fail "BeeGFS is not mounted"
for who in beegfs-meta beegfs-storage client; do
  wait_for 10 "$who at the management" management_said "accepted $who"
done
apply playbooks/site.yaml --detailed-exitcode
expect_applied 0 "a second apply"

step "a worker that is up before its file server"
lab exec c002 systemctl stop beegfs-mgmtd
unmount
lab exec c001 systemctl restart --no-block slurmd
wait_for 30 "slurmd waits" slurmd_said "not mounted yet: mnt-beegfs.mount"
expect_equal activating "$(lab exec c001 systemctl is-active slurmd)" "slurmd without the file system"
lab exec c002 systemctl start beegfs-mgmtd
wait_for 60 "slurmd runs" lab exec c001 systemctl is-active -q slurmd
is_mounted || fail "slurmd runs without the file system"

step "a new place for the management's store, which has not come along"
apply playbooks/site.yaml --limit c002 -e beegfs_management_path=/var/lib/elsewhere
expect_applied 3 "a store that would be left behind"
expect_contains "$APPLY_OUTPUT" "rmdir /var/lib/elsewhere && mv -T /var/lib/beegfs_management /var/lib/elsewhere" "the remedy"
lab exec c002 grep -qx 'storeMgmtdDirectory = /var/lib/beegfs_management' /etc/beegfs/beegfs-mgmtd.conf || fail "the configuration has changed"

step "a job's scratch folder"
wait_for 30 "workers idle" nodes_idle c001 c003
expect_equal "$(printf 'nobody 700\n')" \
  "$(lab exec login1 runuser -u nobody -- srun --chdir=/ sh -c 'stat -c "%U %a" "/scratch_local/job_$SLURM_JOB_ID"')" "the folder during the job"
wait_for 10 "the folder is gone" lab exec c001 sh -c '[ -z "$(ls -A /scratch_local)" ]'

step "BeeOND for a job that asks for it"
beeond_serves
lab exec login1 srun --immediate=60 -w c001 sh -c '! mountpoint -q /mnt/beeond' || fail "a job that does not ask for BeeOND has it"

step "BeeOND does not start: the job is cancelled with the reason, and no node is drained"
lab exec c003 touch /run/muster-beeond/status
job=$(lab exec login1 sbatch --parsable -N2 --exclusive --constraint=beeond --chdir=/ --output=/tmp/beeond.out --wrap 'sleep 60')
wait_for 60 "job $job ends" is_over "$job"
expect_equal CANCELLED "$(job_field "$job" JobState)" "the job"
expect_contains "$(lab exec login1 scontrol show job "$job")" "Status file /run/muster-beeond/status on host c003 already exists" "the job's comment"
expect_contains "$(lab exec c001 cat /tmp/beeond.out)" "no BeeOND for job $job" "the job's output"
wait_for 40 "workers idle" nodes_idle c001 c003
wait_for 20 "nothing is left of it" nothing_of_a_job
on_workers 'rm -f /var/log/beeond.calls'

step "another secret on the servers; then no management"
unmount
lab exec c002 sh -c 'echo another >/etc/beegfs/conn.auth && systemctl restart beegfs-mgmtd'
apply playbooks/site.yaml --limit c001
expect_applied 3 "a wrong secret"
expect_contains "$APPLY_OUTPUT" "refuses: authentication failed (connAuthFile /etc/beegfs/conn.auth)" "the reason"
lab exec c002 systemctl stop beegfs-mgmtd
apply playbooks/site.yaml --limit c001
expect_applied 3 "no management"
expect_contains "$APPLY_OUTPUT" "management c002:8008 is unreachable" "the reason"
expect_equal beegfs_client "$(roles_that_failed)" "what failed"
apply playbooks/site.yaml
expect_applied 0 "the repair"
is_mounted || fail "BeeGFS is not mounted again"

step "series 8, and a client that BeeGFS's own service mounts"
set_inventory 8 autobuild "label: meta, replaces_uuid: $uuid"
apply playbooks/site.yaml --limit c002
expect_applied 3 "packages of 7.4"
expect_contains "$APPLY_OUTPUT" "beegfs-mgmtd 7.4.6 is installed, and beegfs_version asks for series 8" "what is in the way"
on_workers 'systemctl stop mnt-beegfs.mount && rm /etc/systemd/system/mnt-beegfs.mount && systemctl daemon-reload && apt-get purge -qq -y "beegfs-*" beeond >/dev/null'
lab exec c002 sh -c 'apt-get purge -qq -y "beegfs-*" >/dev/null'
apply playbooks/site.yaml --limit c002
expect_applied 3 "the management of 8 beside the data of 7.4"
expect_contains "$APPLY_OUTPUT" "run /opt/beegfs/sbin/beegfs-mgmtd --import-from-v7 /var/lib/beegfs_management on c002" "the remedy"
lab exec c002 /opt/beegfs/sbin/beegfs-mgmtd --import-from-v7 /var/lib/beegfs_management
apply playbooks/site.yaml
expect_applied 0 "series 8"
is_mounted || fail "BeeGFS is not mounted"
lab exec c001 systemctl is-active -q beegfs-client || fail "its service is not active"
lab exec c002 test -e /var/lib/beegfs_management/mgmtd.sqlite || fail "no database"
apply playbooks/site.yaml --detailed-exitcode
expect_applied 0 "a second apply of series 8"
wait_for 30 "workers idle" nodes_idle c001 c003
beeond_serves
echo PASSED
