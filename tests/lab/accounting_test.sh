#!/bin/bash
# Slurm's accounting, from the database to the limits of users, and what runs around jobs: a job is
# charged, one beyond a limit waits with the reason, what leaves the playbook leaves Slurm, and what an
# administrator made by hand stays. Then jobs with a /tmp of their own, tokens for slurmrestd, and a
# reservation for maintenance.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"

readonly suite=${SUITE:-bookworm}
# The version of Slurm, and that of its REST interface.
case $suite in
  bookworm) slurm=22.05 api=v0.0.38 ;;
  jammy) slurm=21.08 api=v0.0.37 ;;
  noble) slurm=23.11 api=v0.0.40 ;;
  *) slurm=24.11 api=v0.0.42 ;;
esac
has_own_number() { [[ ! $slurm < 24.11 ]]; }
work=$(mktemp -d)
on() { lab exec "$@" </dev/null; }  # NODE CMD…

# The inventory with what the roles read; the users are those of stdin, as YAML.
use_inventory() {
  cp "$(lab_folder)"/inventory/* "$work/inventory/"
  { cat <<'YAML'; cat; } >"$work/inventory/slurm.yaml"
racks:
  r1: {switch: sw1, nodes: c001}
  r2: {switch: sw2, nodes: c002}
groups:
  all_of_it:
    nodes: "login1,c[001-002]"
    vars:
      slurm_accounting_host: login1
      slurm_prolog: true
      slurm_prolog_seconds: 10
      slurm_gpu_wait_seconds: 2
      slurm_jwt: true
      slurm_rest_host: login1
      cluster_groups: [{name: people, gid: 3000}]
      cluster_users:
        - {name: ann, uid: 3001, group: people}
        - {name: bob, uid: 3002, group: people}
      slurm_partition_options: {batch: {QOS: everybody}}
      slurm_qos:
        - {name: everybody, limits: {MaxTRESPerJob: gres/gpu=2}}
        - {name: urgent, limits: {Priority: 100, MaxJobsPerUser: 1}}
      slurm_accounts:
        - {name: physics, limits: {GrpTRESMins: gres/gpu=60000, QOS: "normal,urgent"}}
        - {name: optics, parent: physics, description: light of all kinds}
YAML
  if [[ $suite != bookworm ]]; then
    sed -i '/slurm_prolog: true/a\      slurm_private_tmp: /var/lib/private_tmp' "$work/inventory/slurm.yaml"
  fi
  muster inventory apply "$work/inventory" >/dev/null
}

submit() { on login1 runuser -u "$1" -- sbatch --parsable --chdir=/ --output=/dev/null "${@:2}"; }  # USER ARGS…
is_pending_for() { [[ $(on login1 squeue -h -j "$1" -o %r) == "$2" ]]; }  # JOB REASON
accounted() {  # JOB: account, resources and state, as slurmdbd has them
  on login1 sacct -n -P -X -j "$1" --format=account,alloctres,state
}
is_accounted() { [[ $(accounted "$1") == "$2|"*"gres/gpu=$3"*"|$4" ]]; }  # JOB ACCOUNT GPUS STATE
is_accounted_done() { [[ $(accounted "$1") == *"|COMPLETED" ]]; }  # JOB
associations() { on login1 sacctmgr -nP show assoc format=account,user | sort | xargs; }
is_reason() { [[ $(reason "$1") == *"$2"* ]]; }  # NODE PART

if [[ $suite == bookworm ]]; then kind=(--prepared); else kind=(); fi
start_cluster 2 "$suite" "${kind[@]}" --gpus 2
mkdir "$work/inventory"
use_inventory <<'YAML'
      slurm_users:
        - {name: ann, accounts: [optics, physics], limits: {MaxJobs: 1}}
        - {name: bob, accounts: physics}
YAML
join 'login1,c[001-002]'

step "a check of what is not there yet: quick, and without failures"
started=$SECONDS
apply playbooks/site.yaml --check >"$work/apply.log"
expect_applied 0 "a check on fresh nodes"
((SECONDS - started <= 120)) || fail "a check on fresh nodes took $((SECONDS - started)) s"

# From Slurm 24.11 on slurmctld then has a number of its own, with which it did not start beside slurmdbd.
start_without_accounting() {
step "a cluster without accounting, which is turned on by the rollout"
apply playbooks/site.yaml --limit login1 -e 'slurm_accounting_host=""' -e 'slurm_rest_host=""' \
  -e 'slurm_partition_options={}' >"$work/apply.log" || cat "$work/apply.log"
expect_applied 0 "no accounting"
expect_contains "$(on login1 cat /var/lib/slurm/slurmctld/clustername)" "|" "the number that slurmctld has given itself"
}
if has_own_number; then start_without_accounting; fi

step "the rollout; then the prolog, of which slurmds that run must learn"
apply playbooks/site.yaml -e slurm_prolog=false >"$work/apply.log" || cat "$work/apply.log"
expect_applied 0 "rollout with accounting"
apply playbooks/site.yaml >"$work/apply.log" || cat "$work/apply.log"
expect_applied 0 "a prolog"
apply playbooks/site.yaml --detailed-exitcode >"$work/apply.log"
expect_applied 0 "a second apply"
expect_contains "$(on login1 scontrol show topology)" "SwitchName=sw2 Level=0" "the network"
expect_contains "$(on login1 scontrol show topology)" "Level=1" "the root of the network"
expect_equal "optics| optics|ann physics| physics|ann physics|bob root| root|root" "$(associations)" \
  "who is in which account"
if has_own_number; then
  expect_contains "$(on login1 cat /var/lib/slurm/slurmctld/clustername)" "|" "the number that slurmdbd has given it"
fi

step "a job is charged to its account, with its GPUs"
wait_for 30 "workers idle" nodes_idle c001 c002
# shellcheck disable=SC2016  # for the shell there
on c001 sh -c 'printf "#!/bin/sh\necho \$SLURM_JOB_GPUS >/var/tmp/epilog\n" >/etc/slurm/epilog.d/90-mark; chmod 755 /etc/slurm/epilog.d/90-mark'
job=$(submit ann -w c001 --gres=gpu:2 --wrap 'test -c /dev/nvidia1')
wait_for 60 "job $job in slurmdbd" is_accounted "$job" optics 2 COMPLETED
wait_for 10 "its epilog" on c001 grep -qx 0,1 /var/tmp/epilog

# Slurm 22.05 cannot.
check_private_folders() {
step "a job has a /tmp and a /dev/shm of its own, which end with it"
on c001 touch /tmp/of_the_node /dev/shm/of_the_node
# shellcheck disable=SC2016  # for the shell there
seen=$(on login1 runuser -u ann -- srun --immediate=60 --chdir=/ -w c001 sh -c '
  echo "before: $(ls -A /tmp /dev/shm | xargs)"
  echo "owner: $(stat --format=%U /tmp)"
  echo mine >/tmp/of_the_job; echo mine >/dev/shm/of_the_job
  echo "then: $(ls /tmp)"')
expect_contains "$seen" "before: /dev/shm: /tmp:" "what a job finds"
expect_contains "$seen" "owner: ann" "whose /tmp it is"
expect_contains "$seen" "then: of_the_job" "what a job leaves"
# Slurm keeps a folder of the node there.
no_private_folders() { [[ -z $(on c001 find /var/lib/private_tmp -mindepth 2) ]]; }
# One after the other: Slurm 22.05 fails some.
for _ in $(seq 20); do on login1 srun --immediate=30 --chdir=/ -w c001 true; done
wait_for 20 "the job's folders are gone" no_private_folders
on c001 test -e /tmp/of_the_node -a ! -e /tmp/of_the_job -a -e /dev/shm/of_the_node -a ! -e /dev/shm/of_the_job ||
  fail "a job's files are in the node's /tmp"
expect_equal "root 755" "$(on c001 stat --format='%U %a' /var/lib/private_tmp)" "the folder of the folders"

step "it is not taken from jobs that run"
first=$(submit ann -w c001 --wrap 'sleep 120')
is_running() { [[ $(on login1 squeue -h -j "$1" -o %T) == RUNNING ]]; }
wait_for 30 "job $first runs" is_running "$first"
private_tmp_is() {  # PATH
  sed -i "s#slurm_private_tmp: .*#slurm_private_tmp: $1#" "$work/inventory/slurm.yaml"
  muster inventory apply "$work/inventory" >/dev/null
}
private_tmp_is /var/lib/elsewhere
apply playbooks/site.yaml --limit login1
expect_applied 3 "private folders that move while a job runs"
expect_contains "$APPLY_OUTPUT" "while jobs run (1)" "the refusal"
private_tmp_is /var/lib/private_tmp
on login1 scancel "$first"
}
if [[ $suite != bookworm ]]; then check_private_folders; fi

step "slurmrestd serves those who have a token, and nobody else"
expect_equal "slurm 400" "$(on login1 stat --format='%U %a' /etc/slurm/jwt_hs256.key)" "the key of tokens"
on c001 test ! -e /etc/slurm/jwt_hs256.key || fail "a worker has the key of tokens"
pid=$(on login1 systemctl show --value --property=MainPID slurmrestd)
expect_equal slurmrestd "$(on login1 stat --format=%U "/proc/$pid")" "whose process slurmrestd is"
rest() {  # PATH CURL'S ARGS…: the status and the answer, asked by ann
  on login1 runuser -u ann -- curl --silent --max-time 20 --write-out '\n%{http_code}\n' \
    --unix-socket /run/slurmrestd/slurmrestd.socket "${@:2}" "http://slurm$1"
}
token=$(on login1 runuser -u ann -- scontrol token lifespan=300 | sed 's/^SLURM_JWT=//')
[[ -n $token ]] || fail "ann got no token"
answer=$(rest "/slurm/$api/nodes" -H "X-SLURM-USER-NAME: ann" -H "X-SLURM-USER-TOKEN: $token")
expect_equal 200 "$(tail -n 1 <<<"$answer")" "the nodes, with a token: $(tail -c 300 <<<"$answer")"
expect_contains "$answer" '"c002"' "the nodes"
answer=$(rest "/slurmdb/$api/accounts" -H "X-SLURM-USER-NAME: ann" -H "X-SLURM-USER-TOKEN: $token")
expect_equal 200 "$(tail -n 1 <<<"$answer")" "the accounts, with a token: $(tail -c 300 <<<"$answer")"
expect_contains "$answer" '"optics"' "the accounts, of slurmdbd"
answer=$(rest "/slurm/$api/nodes" || true)
expect_equal 401 "$(tail -n 1 <<<"$answer")" "without a token"
answer=$(rest "/slurm/$api/nodes" -H "X-SLURM-USER-NAME: ann" -H "X-SLURM-USER-TOKEN: ${token%.*}.forged" || true)
[[ $answer != *'"c002"'* ]] || fail "a forged token gets an answer"
[[ -z $(on login1 ss --listening --tcp --numeric --no-header 'sport = :6820') ]] || fail "slurmrestd listens on TCP, unasked"

step "a reservation: made once, kept, and removed with its entry"
# Begun a minute ago, so that it holds from the start.
begin=$(on login1 date --date='1 minute ago' +%Y-%m-%dT%H:%M)
reserve='slurm_reservations=[{"name": "repair", "start": "'$begin'", "duration": "2:00:00", "nodes": "c002", "users": "root", "flags": ["MAINT"]}, {"name": "last_year", "start": "2020-01-01T08:00", "duration": 60, "nodes": "c002", "users": "root"}]'
apply playbooks/site.yaml --limit login1 -e "$reserve" --check --diff
expect_contains "$APPLY_OUTPUT" "repair $begin 2:00:00 c002 root - MAINT" "the difference"
[[ $(on login1 scontrol --oneliner show reservation) != *repair* ]] || fail "a check makes a reservation"
apply playbooks/site.yaml --limit login1 -e "$reserve" >"$work/apply.log" || cat "$work/apply.log"
expect_applied 0 "a reservation"
shown=$(on login1 scontrol --oneliner show reservation)
expect_contains "$shown" "ReservationName=repair" "reservations"
[[ $shown != *last_year* ]] || fail "a reservation of the past was made: $shown"
apply playbooks/site.yaml --limit login1 -e "$reserve" --detailed-exitcode >"$work/apply.log"
expect_applied 0 "a reservation that is there"
job=$(submit ann -w c002 --wrap true)
is_kept_out() { [[ $(on login1 squeue -h -j "$1" -o '%T %r') == PENDING*eserved* ]]; }
wait_for 30 "ann's job waits" is_kept_out "$job"
on login1 srun --immediate=30 --reservation=repair -w c002 true || fail "root cannot use the reservation"
apply playbooks/site.yaml --limit login1 >"$work/apply.log"
expect_applied 0 "no reservation"
[[ $(on login1 scontrol --oneliner show reservation) != *repair* ]] || fail "a reservation outlives its entry"
wait_for 60 "ann's job runs" is_accounted_done "$job"

step "beyond a limit a job waits, or is refused"
first=$(submit ann -A physics --wrap 'sleep 60')
second=$(submit ann -A physics --wrap true)
wait_for 30 "the limit of ann's jobs" is_pending_for "$second" AssocMaxJobsLimit
third=$(submit bob --gres=gpu:2 -N2 --wrap true)
wait_for 30 "the limit of the partition's QOS" is_pending_for "$third" QOSMaxGRESPerJob
on login1 scancel "$first" "$second" "$third"
if submit root --account=nothing --wrap true 2>/dev/null; then fail "a job of no account was taken"; fi

step "a changed playbook: the check names it, and what was made by hand stays"
on login1 sacctmgr -i add user eve account=root >/dev/null
use_inventory <<'YAML'
      slurm_users:
        - {name: ann, accounts: [physics], limits: {MaxJobs: 3}}
YAML
apply playbooks/site.yaml --check --diff --limit login1
for part in "user ann in physics MaxJobs" "user ann in optics" "user bob in physics"; do
  expect_contains "$APPLY_OUTPUT" "$part" "the difference"
done
expect_contains "$(associations)" "physics|bob" "a check changes nothing"
apply playbooks/site.yaml --limit login1 >"$work/apply.log"
expect_applied 0 "changed users"
expect_equal "optics| physics| physics|ann root| root|eve root|root" "$(associations)" "who is left"
if submit bob --wrap true 2>/dev/null; then fail "a removed user submits"; fi
apply playbooks/site.yaml --limit login1 --detailed-exitcode >"$work/apply.log"
expect_applied 0 "nothing left to change"

step "a script of the prolog fails: the node is drained, and says why"
on c002 sh -c 'printf "#!/bin/sh\necho the disk is full; exit 3\n" >/etc/slurm/prolog.d/20-disk; chmod 755 /etc/slurm/prolog.d/20-disk'
job=$(submit ann -w c002 --wrap true)
wait_for 40 "c002 is drained" is_reason c002 "muster-prolog: 20-disk: the disk is full"
expect_contains "$(on c002 journalctl -t slurm-prolog --no-pager)" "the disk is full" "the journal"
on login1 scancel "$job"
on c002 rm /etc/slurm/prolog.d/20-disk
on login1 scontrol update NodeName=c002 State=RESUME

step "slurmd waits for the GPUs' device files, and says so"
on c002 mv /dev/nvidia1 /dev/away
on c002 systemctl restart slurmd && fail "slurmd started without a GPU"
expect_contains "$(on c002 journalctl -u slurmd --no-pager -n 20)" "there is no /dev/nvidia1" "slurmd's journal"
on c002 mv /dev/away /dev/nvidia1
wait_for 30 "slurmd runs" on c002 systemctl is-active slurmd

step "the database is down: it is started again, or the step fails with its words"
on login1 sh -c 'printf "[mariadbd]\nnonsense=1\n" >/etc/mysql/mariadb.conf.d/99-broken.cnf; systemctl stop mariadb'
apply playbooks/site.yaml --limit login1
expect_applied 3 "a broken database"
expect_contains "$APPLY_OUTPUT" "the database runs: starting mariadb.service: it failed" "the failed step"
on login1 rm /etc/mysql/mariadb.conf.d/99-broken.cnf
apply playbooks/site.yaml --limit login1 >"$work/apply.log"
expect_applied 0 "a mended database"

step "every daemon restarted"
on login1 systemctl restart mariadb slurmdbd slurmctld
for node in c001 c002; do on "$node" systemctl restart slurmd; done
wait_for 40 "workers idle" nodes_idle c001 c002
job=$(submit ann --gres=gpu:1 --wrap true)
wait_for 60 "job $job in slurmdbd" is_accounted "$job" physics 1 COMPLETED
apply playbooks/site.yaml --detailed-exitcode >"$work/apply.log"
expect_applied 0 "an apply at the end"
echo PASSED
