#!/bin/bash
# The main path on Debian 12, on nodes that have GPUs from the start: a check changes nothing, a rollout
# makes a cluster that runs jobs, a second one changes nothing, a slurm.conf that Slurm would refuse
# stays out, drift is found and mended.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"

readonly nodes=(login1 c001 c002 c003)

# What a node is made of, as far as a playbook could touch it.
fingerprint() {  # NODE
  lab exec "$1" sh -c '
    find /etc /usr/local /var/lib/slurm /var/spool/cron /home -xdev ! -type d \
      -printf "%p %m %U %G %T@ %l\n" 2>/dev/null | sort
    dpkg-query -W
    systemctl list-unit-files --no-legend'
}

start_cluster 3 bookworm --gpus 2
join 'login1,c[001-003]'

step "check mode on a fresh cluster"
login=$(fingerprint login1)
worker=$(fingerprint c001)
apply playbooks/site.yaml --check >/dev/null
expect_applied 0 "check"
for node in "${nodes[@]}"; do
  (($(recap "$APPLY_RUN" "$node" changed) > 10)) || fail "check predicts too little on $node"
  expect_equal 0 "$(recap "$APPLY_RUN" "$node" failed)" "failed steps of a check on $node"
done
predicted=$(recap "$APPLY_RUN" c001 changed)
expect_equal "$login" "$(fingerprint login1)" "login1 after a check"
expect_equal "$worker" "$(fingerprint c001)" "c001 after a check"

step "rollout"
started=$SECONDS
apply playbooks/site.yaml --detailed-exitcode
expect_applied 2 "rollout"
took=$((SECONDS - started))
((took <= 720)) || fail "the rollout took $took s"
# A check cannot know what packages bring along, so it may predict more, never less.
((predicted >= $(recap "$APPLY_RUN" c001 changed))) || fail "more changed than check mode predicted"
wait_for 20 "all nodes idle" nodes_idle c001 c002 c003
expect_equal "c001 c002 c003" "$(lab exec login1 srun -N3 hostname | sort | xargs)" "a job on three nodes"
lab exec login1 sbatch --wait --chdir=/ --output=/dev/null --wrap true
# Slurm 23.11 (SUITE=noble) logs this when its main scheduler leaves batch jobs to backfill.
expect_equal 0 "$(lab exec login1 grep -c 'has invalid account' /var/log/slurm/slurmctld.log || true)" "jobs passed over"

step "facts agree with Slurm"
slurm=$(lab exec c001 slurmd -C | head -n 1)
for pair in CPUs=cpus Boards=boards CoresPerSocket=cores_per_socket ThreadsPerCore=threads_per_core; do
  fact=$(muster -o json node facts c001 | read_json "print(value['cpu']['${pair#*=}'])")
  expect_contains "$slurm " "${pair%=*}=$fact " "facts and slurmd -C"
done

step "names come from /etc/hosts, without waiting for a name server that is not there"
wait_for 30 "an answer within 2 s" lab exec login1 timeout 2 muster status

step "host lists are what Slurm reads"
expect_slurm_reads_host_lists 2205

step "nothing to do"
apply playbooks/site.yaml --detailed-exitcode
expect_applied 0 "second apply"
for node in "${nodes[@]}"; do
  expect_equal 0 "$(recap "$APPLY_RUN" "$node" changed)" "changes of a second apply on $node"
done

step "GPUs that were there before the first apply serve, also after a restart of slurmctld"
expect_gpus_serve c001 c002 c003

step "a slurm.conf that slurmctld would refuse"
expect_bad_slurm_conf_refused

step "drift"
lab exec c002 sh -c 'echo "# by hand" >>/etc/default/slurmd; chmod 600 /etc/hosts'
lab exec c003 systemctl stop slurmd
apply playbooks/site.yaml --check --diff
expect_contains "$APPLY_OUTPUT" "-# by hand" "the difference of an edited file"
expect_contains "$APPLY_OUTPUT" "mode: 0600 -> 0644" "the change of a mode"
expect_contains "$APPLY_OUTPUT" "state: inactive -> started" "the change of a unit"
expect_equal 3 "$(recap "$APPLY_RUN" c002 changed)" "drift found on c002 (two files, one restart)"
expect_equal 1 "$(recap "$APPLY_RUN" c003 changed)" "drift found on c003"
expect_equal 0 "$(recap "$APPLY_RUN" c001 changed)" "drift found on c001"
expect_equal inactive "$(lab exec c003 systemctl is-active slurmd || true)" "a unit after a check"
apply playbooks/site.yaml
expect_applied 0 "repair"
expect_equal active "$(lab exec c003 systemctl is-active slurmd)" "the stopped unit"
expect_equal 644 "$(lab exec c002 stat -c %a /etc/hosts)" "the mode changed by hand"
apply playbooks/site.yaml --detailed-exitcode >/dev/null
expect_applied 0 "nothing left after the repair"
echo PASSED
