# For tests that boot machines. Sourced: checks for root, names the test's lab
# and takes it down at the end, however that comes.
# shellcheck shell=bash

export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin  # as ./dev
if ((EUID != 0)); then echo "SKIPPED: a lab needs root"; exit 77; fi
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

# One name a checkout and test: what a killed run left, the next one removes.
LAB_TEST_NAME=t$(echo "$PWD $0" | sha256sum | cut -c1-8)

lab() {  # VERB ARGS…
  local verb=$1
  shift
  ./dev lab "$verb" --name "$LAB_TEST_NAME" "$@"
}

fail() { echo "FAILED: $*" >&2; exit 1; }

expect_equal() {  # WANT GOT WHAT
  [[ $1 == "$2" ]] || fail "$3: want '$1', got '$2'"
}

expect_contains() {  # TEXT PART WHAT
  [[ $1 == *"$2"* ]] || fail "$3: no '$2' in: $1"
}

# Reads all that COMMAND says: a `grep -q` behind a pipe leaves at its first match, and what still
# writes then fails by its closed pipe.
says() {  # GREP-OPTIONS PATTERN COMMAND…
  local said
  said=$("${@:3}") && grep -q "$1" -- "$2" <<<"$said"
}

# The bound only ends what hangs: on a machine with much to do everything takes longer.
wait_for() {  # SECONDS WHAT CMD…: until the command succeeds
  local end=$((SECONDS + ($1 < 90 ? 90 : $1))) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < end)) || fail "$what: not in time"
    sleep 0.3
  done
}

# Says how long the test has run, so that its log tells where time goes.
step() { printf '== %3d s: %s\n' "$SECONDS" "$*"; }

lab_folder() { echo "${MUSTER_LAB_STATE:-/var/lib/muster-lab}/$LAB_TEST_NAME"; }

muster() { lab muster "$@" </dev/null; }
# What `muster health` says of a node; it fails where something is wrong.
health_of() { muster health "$1" 2>&1 || true; }  # NODE

# Nodes, the controller, the inventory; no node has joined. The gate to Slurm is off, so that nodes
# work without a validation, unless GATE=on. SUITE=NAME takes another system than the test's own.
start_cluster() {  # COMPUTE [SUITE [ARGS OF lab up…]]
  [[ -x build/release/bin/muster ]] || fail "no build/release/bin/muster; run ./dev build"
  lab up --login 1 --compute "$1" --suite "${SUITE:-${2:-bookworm}}" --gate "${GATE:-off}" "${@:3}"
  muster inventory apply "$(lab_folder)/inventory" >/dev/null
}

# For a test that compares rates, draws or gaps: what its nodes do goes before what those of another
# lab do.
measured_cluster() {  # as start_cluster
  start_cluster "$1" "${2:-bookworm}" --weight 50 "${@:3}"
}

join() {  # NODES
  muster node bootstrap --ssh "$1" || fail "bootstrap of $1"
}

# Shows what a command says as it comes, so that the log of one that hangs is not empty, and leaves it
# in SAID; returns its exit code.
show() {  # CMD…
  local rc=0
  "$@" 2>&1 | tee "$_said" || rc=$?
  SAID=$(<"$_said")
  return "$rc"
}
_said=$(mktemp)

# Gives a copy of the site the suite `acceptance` of what a node of the lab can tell in seconds.
shorten_acceptance() {  # SITE
  cat >"$1/playbooks/suites/acceptance.yaml" <<'YAML'
name: acceptance
description: What a node of the lab can tell in seconds
admits: true
stages:
  - name: look
    checks:
      - {check: file-systems, time_limit: 30s, with: {paths: /}}
      - {check: slurm-node, time_limit: 1m}
YAML
}

# Applies without what the playbook ends with, shows the output, and leaves it in APPLY_OUTPUT, the
# exit code in APPLY_RC and the run's id in APPLY_RUN.
apply() {  # PLAYBOOK ARGS…
  apply_and_validate "$@" --skip-validation
}

apply_and_validate() {  # PLAYBOOK ARGS…
  APPLY_RC=0
  show muster apply --yes "$@" || APPLY_RC=$?
  APPLY_OUTPUT=$SAID
  # shellcheck disable=SC2034  # tests read it
  APPLY_RUN=$(sed -n 's/^run \(r-[^ ]*\) .*/\1/p' <<<"$APPLY_OUTPUT" | tail -n 1)
}

expect_applied() {  # RC WHAT
  [[ $1 == "$APPLY_RC" ]] || fail "$2: exit code: want '$1', got '$APPLY_RC'
$(muster run show "$APPLY_RUN" --failed 2>&1)"
}

# Shows the validation, and leaves what was said in OUTPUT, the exit code in RC and the validation's
# id in ID.
validate_nodes() {  # SUITE SITE NODES ARGS…
  RC=0
  # shellcheck disable=SC2034  # tests read it
  show muster validate "${@:3}" --suite "$1" --site "$2" || RC=$?
  OUTPUT=$SAID
  # shellcheck disable=SC2034  # tests read it
  ID=$(sed -n 's/^\(validation \)\?\(v-[a-z0-9]*\)$/\2/p' <<<"$OUTPUT" | head -n 1)
}

# A field of a node's recap, such as `changed` or `state`.
recap() {  # RUN NODE FIELD
  muster -o json run show "$1" | read_json '
[node] = [n for n in value["run"]["nodes"] if n["node"] == sys.argv[1]]
print(node[sys.argv[2]])' "$2" "$3"
}

run_field() {  # RUN FIELD
  muster -o json run show "$1" | read_json 'print(value["run"][sys.argv[1]])' "$2"
}

# Whether these nodes and no others are idle in Slurm.
nodes_idle() {  # NODE…
  [[ $(lab exec login1 sinfo -h -N -t idle -o %N | sort -u | xargs) == "$*" ]]
}

# slurmctld comes up again with what the rollout wrote, and a job that asks for two GPUs of a node gets
# two devices there.
expect_gpus_serve() {  # NODE…: all that are idle
  local seen
  # shellcheck disable=SC2016
  local look='for gpu in $(echo "$CUDA_VISIBLE_DEVICES" | tr , " "); do test -c "/dev/nvidia$gpu" && echo "$gpu"; done'
  lab exec login1 systemctl restart slurmctld
  wait_for 30 "$* idle after a restart of slurmctld" nodes_idle "$@"
  seen=$(lab exec login1 srun --immediate=60 -w "$1" --gres=gpu:2 sh -c "$look" | sort -u | xargs)
  expect_equal "0 1" "$seen" "devices of a job with --gres=gpu:2"
}

# A slurm.conf by which slurmctld would not start is refused before it takes the place of the old one.
expect_bad_slurm_conf_refused() {
  local before
  before=$(lab exec login1 sha256sum /etc/slurm/slurm.conf)
  apply playbooks/site.yaml --limit login1 -e 'slurm_extra_config=["AccountingStorageTRES=gres/gpu"]'
  expect_applied 3 "a slurm.conf that slurmctld refuses"
  expect_contains "$APPLY_OUTPUT" "slurmdbd is required to run with TRES gres/gpu" "slurmctld's own words"
  expect_equal "$before" "$(lab exec login1 sha256sum /etc/slurm/slurm.conf)" "the old slurm.conf"
  expect_equal active "$(lab exec login1 systemctl is-active slurmctld)" "slurmctld meanwhile"
  # The step that failed may have left something behind, for all that the agent knows: it restarts
  # slurmctld, once.
  apply playbooks/site.yaml
  expect_applied 0 "an apply after a refused slurm.conf"
  apply playbooks/site.yaml --detailed-exitcode >/dev/null
  expect_applied 0 "nothing left after it"
}

node_field() {  # NODE FIELD: of scontrol
  lab exec login1 scontrol --oneliner show node "$1" | sed -n "s/.* $2=\([^ ]*\).*/\1/p"
}
reason() {  # NODE
  lab exec login1 scontrol --oneliner show node "$1" | sed -n 's/.* Reason=\(.*\) \[.*/\1/p'
}
is_drained_for() {  # NODE PART OF THE REASON
  [[ $(node_field "$1" State) == *DRAIN* && $(reason "$1") == *"$2"* ]]
}

# Random host lists of ours, held against Slurm's own reading of them on login1.
expect_slurm_reads_host_lists() {  # SEED
  local ours slurms
  ours=$(build/release/tests/hostlist_cases "$1" 200)
  # shellcheck disable=SC2016  # it is for the shell there
  slurms=$(sed -n 's/^== //p' <<<"$ours" | lab exec login1 env LC_ALL=C bash -c '
    while read -r list; do
      echo "== $list"
      scontrol show hostnames "$list" 2>&1 </dev/null | sort -u
    done')
  diff <(echo "$ours") <(echo "$slurms") || fail "Slurm reads host lists otherwise (< ours, > Slurm)"
}

read_json() {  # PROGRAM ARGS…: with standard input as `value`
  local program=$1
  shift
  python3 -c "import json, sys
value = json.load(sys.stdin)
$program" "$@"
}

_end_of_test() {
  local rc=$? logs
  trap - EXIT
  rm -f "$_said"
  # What a test has to tidy up itself. Not by a trap of its own, which would lose the exit status.
  if declare -F clean >/dev/null; then clean || true; fi
  if ((rc != 0)); then
    logs=build/lab-logs/$(basename "$0" .sh)
    rm -rf "$logs"
    lab logs "$logs" 2>/dev/null && echo "logs: $logs"
  fi
  lab down || rc=1
  exit "$rc"
}
trap _end_of_test EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
