# For tests that break a first rollout at seeded moments. Sourced after testing.sh: nodes are rolled
# out in batches, each is struck twice, and at the end each must be what an undisturbed one is.
# shellcheck shell=bash

# How often a rollout is struck in all; the nightly run says 20.
readonly MOMENTS=${MUSTER_CRASH_MOMENTS:-4}
readonly SEED=${MUSTER_CRASH_SEED:-1}
readonly REFERENCE=c001  # the node that nothing happens to
readonly BATCH=3         # nodes at once: more would only share the processors
readonly PER_NODE=2      # strikes

# What may differ between two nodes that are equal, and why.
readonly OWN_FILES='
/etc/hostname                          its name
/etc/machine-id                        its identity
/etc/systemd/network/10-host0.network  its address, set by the lab
/etc/ssh/ssh_host_*                    its host keys
/etc/passwd-                           what /etc/passwd was before the last change
/etc/shadow-
/etc/group-
/etc/gshadow-
/etc/subuid-
/etc/subgid-
/etc/ld.so.cache                       made anew by whichever package came last
/etc/.pwd.lock                         held while accounts change
'

# Content, mode, owner and target of everything in /etc, and the packages.
node_contents() {  # NODE
  local names
  names=$(awk 'NF { print $1 }' <<<"$OWN_FILES" | xargs)
  # shellcheck disable=SC2016  # the node's shell expands it
  lab exec "$1" sh -ec '
    set -f
    for name in $1; do set -- "$@" ! -path "$name"; done
    shift
    find /etc -xdev "$@" -printf "%y %m %u:%g %p %l\n" | sort -k 4
    find /etc -xdev -type f "$@" -print0 | sort -z | xargs -0 sha256sum
    dpkg-query -W -f "\${db:Status-Abbrev} \${Package} \${Version}\n"
    dpkg --audit' sh "$names"
}

expect_like_reference() {  # NODE…
  local node want got
  want=$(node_contents "$REFERENCE")
  (($(wc -l <<<"$want") > 500)) || fail "what $REFERENCE holds: too little to compare"
  for node in "$@"; do
    got=$(node_contents "$node")
    [[ $got == "$want" ]] || {
      diff <(echo "$want") <(echo "$got") | head -n 40 >&2 || true
      fail "$node is not what $REFERENCE is"
    }
  done
}

# Lines of PER fractions, one for each of COUNT nodes, the same for the same seed: how much of what
# is left of a rollout is done when the node is struck.
seeded_moments() {  # COUNT PER
  python3 -c '
import random, sys
seed, count, per = map(int, sys.argv[1:])
random.seed(seed)
for _ in range(count):
    print(*["%.3f" % random.uniform(0.05, 0.8) for _ in range(per)])' "$SEED" "$1" "$2"
}

# Whether the node's agent, since it last started, has gone on with a plan that was cut off.
has_continued() {  # NODE
  lab exec "$1" journalctl -u muster-agent --no-pager -o cat | tac |
    awk '/^muster-agent .* on /{ exit } / continues after /{ found = 1 } END { exit !found }'
}

compute_nodes() {  # FIRST COUNT: their names
  seq -f 'c%03g' "$1" $(($1 + $2 - 1))
}

# Rolls out login1 and then the reference node; sets ROLLOUT to what the latter took, in seconds.
measure_rollout() {
  local start
  apply playbooks/site.yaml --limit login1 >/dev/null
  expect_applied 0 "the rollout of login1"
  start=$EPOCHREALTIME
  apply playbooks/site.yaml --limit "$REFERENCE" >/dev/null
  expect_applied 0 "the undisturbed rollout"
  ROLLOUT=$(calculate "$EPOCHREALTIME - $start")
}

calculate() { awk "BEGIN { printf \"%.3f\", $1 }"; }  # EXPRESSION

# Strikes a node as often as fractions are given, during the rollout that starts now, and leaves a
# line in FILE for each strike that met a running plan. STRIKE and BACK are functions: the one does
# it, the other waits until the node's agent runs again.
strike_at() {  # FILE STRIKE BACK NODE FRACTION…
  local file=$1 strike=$2 back=$3 node=$4 rest=$ROLLOUT fraction pause
  shift 4
  for fraction in "$@"; do
    pause=$(calculate "$rest * $fraction")
    sleep "$pause"
    "$strike" "$node" >/dev/null || true
    "$back" "$node"
    for _ in {1..10}; do
      if has_continued "$node"; then
        echo "$node $fraction" >>"$file"
        break
      fi
      sleep 0.5
    done
    rest=$(calculate "$rest - $pause")
  done
}

# Rolls the nodes out in batches, each node struck twice, until MOMENTS strikes have met a running
# plan; sets STRUCK_NODES. AFTER is called with the nodes of each batch.
strike_rollouts() {  # STRIKE BACK AFTER NODES: how many there are beside the reference
  local strike=$1 back=$2 after=$3 last=$((1 + $4)) next=2 struck=0 count node hits moments batch strikers fractions
  hits=$(mktemp)
  mapfile -t moments < <(seeded_moments "$4" "$PER_NODE")
  STRUCK_NODES=()
  while ((struck < MOMENTS && next <= last)); do
    # No more nodes than it takes, nor than there are.
    count=$(((MOMENTS - struck + PER_NODE - 1) / PER_NODE))
    ((count <= BATCH)) || count=$BATCH
    ((count <= last + 1 - next)) || count=$((last + 1 - next))
    mapfile -t batch < <(compute_nodes "$next" "$count")
    strikers=()
    for node in "${batch[@]}"; do
      read -ra fractions <<<"${moments[$((10#${node#c} - 2))]}"
      strike_at "$hits" "$strike" "$back" "$node" "${fractions[@]}" &
      strikers+=($!)
    done
    apply playbooks/site.yaml --limit "$(IFS=,; echo "${batch[*]}")" >/dev/null
    wait "${strikers[@]}"
    "$after" "${batch[@]}"
    STRUCK_NODES+=("${batch[@]}")
    next=$((next + count))
    # The undisturbed rollout was the first, and no measure for those behind it: caches are warm.
    (($(wc -l <"$hits") - struck == count * PER_NODE)) || ROLLOUT=$(calculate "$ROLLOUT * 0.7")
    struck=$(wc -l <"$hits")
    step "$struck of $MOMENTS moments: $(tail -n $((count * PER_NODE)) "$hits" | xargs)"
  done
  rm "$hits"
  ((struck >= MOMENTS)) || fail "only $struck of $MOMENTS moments struck a running plan; seed $SEED"
}

# How many nodes strike_rollouts needs: half of the strikes may come after the end of a plan.
nodes_to_strike() { echo $((2 * ((MOMENTS + PER_NODE - 1) / PER_NODE))); }

# All are what they would be without any of it, work, and have nothing left to do.
expect_undisturbed() {  # NODE…
  step "what the nodes hold"
  expect_like_reference "$@"
  wait_for 30 "all nodes idle" nodes_idle "$REFERENCE" "$@"
  apply playbooks/site.yaml --detailed-exitcode --limit "$REFERENCE,$(IFS=,; echo "$*")" >/dev/null
  expect_applied 0 "a second apply"
}
