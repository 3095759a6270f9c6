#!/bin/bash
# A backup of a controller that runs; its state wiped and restored; agents come
# back by themselves and have nothing to do. An old backup does not lock them out.
# Then a new authority for the cluster: a node that is cut off and a person who is
# away are waited for, and once all are along nothing of the old one is good for anything.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"

on_controller() { lab exec login1 "$@"; }
on_login1() { lab exec login1 muster "$@" </dev/null; }
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

wait_for 30 "both nodes idle" nodes_idle c001 c002
step "a new authority waits for a node that is cut off and a person who is away"
authority() { on_login1 -o json ca status | read_json "print($1)"; }  # EXPRESSION OF value
on_login1 user create bob --role viewer --out /root/bob
before=$(authority 'value["signing"]')
# Not on c002, which Slurm loses with its link.
job=$(lab exec login1 sbatch --parsable -w c001 --mem=16 --overcommit -o /tmp/job.out --wrap 'srun --overlap --mem=16 sleep 60; echo "job done"')
lab link c002 down
wait_for 30 "missing c002" connected c001 login1
rc=0
# An agent comes back within 30 s, and renews within 5 s.
show on_login1 ca rotate --yes --wait 60s || rc=$?
expect_equal 4 "$rc" "ca rotate without c002"
expect_contains "$SAID" "c002 (of these, not connected: c002): no certificate of the new authority yet" "what it says"
expect_equal 2 "$(authority 'len(value["trusted"])')" "trusted meanwhile"
lab link c002 up
wait_for 60 "all agents" connected c001 c002 login1
rc=0
show on_login1 ca rotate --yes --wait 60s || rc=$?
expect_equal 1 "$rc" "ca rotate without bob"
expect_contains "$SAID" "bob has credentials of the earlier authority" "what it says"
on_login1 --config /root/bob status >/dev/null || fail "bob is shut out before his time"
on_login1 --config /root/bob user renew
show on_login1 ca rotate --yes --wait 60s || fail "ca rotate ended with $?"
expect_contains "$SAID" "for each signed kernel image" "what it says"
after=$(authority 'value["signing"]')
expect_equal "$after" "$(authority '" ".join(value["trusted"])')" "trusted in the end"
[[ $after != "$before" ]] || fail "the authority is the old one"
on_login1 --config /root/bob status >/dev/null || fail "bob is shut out"
on_login1 --config /root/bob user renew
expect_equal 1 "$(lab exec login1 grep -c BEGIN /root/bob/ca.crt)" "roots that bob has"
refusal=$(muster status 2>&1) && fail "a copy of the old credentials is still good"
lab exec login1 tar -c -C /etc/muster/admin . | tar -x --no-same-owner -C "$(lab_folder)/admin"

step "every daemon anew, by the new authority alone"
wait_for 60 "all agents" connected c001 c002 login1
wait_for 30 "no node behind" sh -c "! ./dev lab exec --name $LAB_TEST_NAME login1 muster ca status | grep -q behind"
for node in login1 c001 c002; do
  expect_equal 1 "$(lab exec "$node" grep -c BEGIN /var/lib/muster/ca.crt)" "roots that $node has"
  lab exec "$node" systemctl restart muster-agent
done
lab exec login1 systemctl restart musterd
wait_for 60 "all agents" connected c001 c002 login1
apply playbooks/site.yaml --detailed-exitcode >/dev/null
expect_applied 0 "an apply by the new authority"
wait_for 90 "the job's end" sh -c "! ./dev lab exec --name $LAB_TEST_NAME login1 squeue -h -j $job | grep -q ."
expect_equal JobState=COMPLETED "$(lab exec login1 scontrol show job "$job" | grep -o 'JobState=[A-Z]*')" "the job that ran meanwhile"

step "an authority whose key is in a token"
in_token() { lab exec login1 runuser -u muster -G softhsm -- "$@" </dev/null; }
lab exec login1 env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y -o Dpkg::Use-Pty=0 \
  softhsm2 opensc p11-kit libengine-pkcs11-openssl >/dev/null 2>&1 || fail "no packages for a token"
in_token softhsm2-util --init-token --free --label muster --pin 4711 --so-pin 1234 >/dev/null
in_token pkcs11-tool --module /usr/lib/softhsm/libsofthsm2.so --login --pin 4711 --token-label muster \
  --keypairgen --key-type EC:prime256v1 --label ca1 --id 01 >/dev/null 2>&1
lab exec login1 sh -c 'printf %s 4711 >/etc/muster/pki/token.pin; chown muster: /etc/muster/pki/token.pin
chmod 600 /etc/muster/pki/token.pin'
uri='pkcs11:token=muster;object=ca1;type=private?pin-source=file:/etc/muster/pki/token.pin'
on_login1 user revoke bob >/dev/null
# For root the token opens; for musterd's account only once its unit says so.
rc=0
show on_login1 ca rotate --yes --ca-key "$uri" || rc=$?
expect_equal 1 "$rc" "ca rotate to a token that musterd may not use"
expect_contains "$SAID" "so the earlier authority is back and nothing has changed" "what it says"
expect_equal "$after $after" "$(authority 'value["signing"], " ".join(value["trusted"])')" "the authority after that"
lab exec login1 sh -c 'mkdir -p /etc/systemd/system/musterd.service.d
printf "[Service]\nSupplementaryGroups=softhsm\nReadWritePaths=/var/lib/softhsm\n" \
  >/etc/systemd/system/musterd.service.d/token.conf
systemctl daemon-reload'
show on_login1 ca rotate --yes --ca-key "$uri" --wait 60s || fail "ca rotate to a token ended with $?"
[[ $(authority 'value["signing"]') != "$after" ]] || fail "the authority is the old one"
expect_equal "$uri" "$(lab exec login1 cat /etc/muster/pki/ca.key)" "what ca.key holds"
lab exec login1 tar -c -C /etc/muster/admin . | tar -x --no-same-owner -C "$(lab_folder)/admin"
lab exec login1 systemctl restart musterd
wait_for 60 "all agents" connected c001 c002 login1
expect_equal "" "$(lab exec login1 sh -c 'journalctl -u musterd | grep 4711')" "lines of the log with the PIN"

expect_equal 4 "$(muster audit list -n 500 | grep -c ' ca\.change ')" "changes of the authority in the audit log"
echo PASSED
