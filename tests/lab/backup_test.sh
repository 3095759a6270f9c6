#!/bin/bash
# A backup of a controller that runs; its state wiped and restored; agents come
# back by themselves and have nothing to do. An old backup does not lock them out.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"

on_controller() { lab exec login1 "$@"; }
connected() {  # NODE…: whether exactly these are
  [[ $(muster -o json node list | read_json '
print(*sorted(n["name"] for n in value["nodes"] if n.get("connected")))') == "$*" ]]
}
expect_no_changes() {  # WHAT
  apply playbooks/site.yaml --detailed-exitcode >/dev/null
  expect_applied 0 "$1"
}

start_cluster 2 bookworm --prepared
join 'login1,c[001-002]'
apply playbooks/site.yaml
expect_applied 0 "rollout"

step "a backup while musterd runs"
on_controller sh -c 'umask 077; echo "a passphrase of the lab" >/root/pass'
on_controller muster backup create /root/one.tgz --passphrase-file /root/pass
expect_contains "$(on_controller muster backup verify /root/one.tgz --passphrase-file /root/pass)" \
  "every secret opens" "verify"
refusal=$(on_controller muster backup restore /root/one.tgz --passphrase-file /root/pass 2>&1) &&
  fail "restored under a running musterd"
expect_contains "$refusal" "another musterd" "the refusal"

step "plans that the backup does not know of"
for _ in 1 2 3; do expect_no_changes "an apply"; done

step "state and keys wiped, and restored"
on_controller systemctl stop musterd
refusal=$(on_controller muster backup restore /root/one.tgz --passphrase-file /root/pass 2>&1) &&
  fail "restored over a newer store"
expect_contains "$refusal" "--force" "the refusal"
on_controller sh -c 'rm -rf /var/lib/muster-controller/* /etc/muster/pki'
on_controller muster backup restore /root/one.tgz --passphrase-file /root/pass
on_controller systemctl start musterd
wait_for 90 "all agents" connected c001 c002 login1
expect_no_changes "an apply after the restore"
expect_contains "$(muster audit list)" "backup.restore" "the audit log"
muster audit verify || fail "the audit log does not fit together"
echo PASSED
