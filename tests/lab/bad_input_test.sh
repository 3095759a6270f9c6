#!/bin/bash
# What people get wrong and what machines run out of: each is told with its
# place and remedy, the others finish, nothing is lost.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"

readonly site=tests/testdata/lab/bad_input
scratch=$(mktemp -d)

# Runs a command that must fail; sets ERROR to what it said.
refused() {  # CMD…
  local rc=0
  ERROR=$("$@" 2>&1) || rc=$?
  echo "$ERROR"
  ((rc != 0)) || fail "not refused: $*"
}

agent_log() { lab exec "$1" journalctl -u muster-agent --no-pager -o cat --since="$2"; }  # NODE SINCE
agent_said() { [[ $(agent_log "$1" "$2") == *"$3"* ]]; }  # NODE SINCE WORDS
now() { lab exec login1 date '+%F %T'; }
connected() { muster -o json node list "$1" | read_json 'assert all(n["connected"] for n in value["nodes"])'; }

start_cluster 3

step "a machine that ssh does not reach holds up nobody"
lab link c003 down
refused muster node bootstrap --ssh 'c[001-003]'
expect_contains "$ERROR" "c003: FAILED: ssh: connect to host" "why c003 did not join"
expect_contains "$ERROR" "2 of 3 nodes joined; failed: c003" "the sum"
connected 'c[001-002]' || fail "the others did not join"
lab link c003 up

step "tokens: expired, used"
token() {  # TTL: prints the words of a join line's command
  muster -o json token create --nodes c003 --ttl "$1" | read_json '
print(value["tokens"][0]["token"], value["ca_pin"])'
}
# On c001, which is a node already: a state folder of its own leaves that alone.
join_as_c003() {  # FOLDER TOKEN PIN
  lab exec c001 muster-agent --state-dir "$1" join --no-start --controller login1:7443 \
    --enrollment login1:7444 --node c003 --ca-pin "$3" --token-file - <<<"$2"
}
read -r expired pin < <(token 1s)
sleep 1.5
refused join_as_c003 /tmp/first "$expired" "$pin"
expect_contains "$ERROR" "expired" "an expired token"
read -r used pin < <(token 5m)
join_as_c003 /tmp/second "$used" "$pin"
refused join_as_c003 /tmp/third "$used" "$pin"
expect_contains "$ERROR" "used" "a used token"
join c003
wait_for 20 "all connected" connected 'c[001-003]'

step "a package that does not exist, on one node"
apply "$site/package.yaml"
expect_applied 3 "a package that does not exist"
expect_contains "$APPLY_OUTPUT" "package 'no-such-tool' does not exist" "the message"
expect_equal "failed 1" "$(recap "$APPLY_RUN" c002 state) $(recap "$APPLY_RUN" c002 failed)" "c002"
for node in c001 c003; do lab exec "$node" test -e /var/tmp/package || fail "$node did not finish"; done

step "a check finds it too, and a file in a folder that nothing makes"
lab exec c002 apt-get update -qq || fail "no lists of packages on c002"
apply "$site/package.yaml" --check --limit c002
expect_applied 3 "a check with a package that does not exist"
expect_contains "$APPLY_OUTPUT" "package 'no-such-tool' does not exist" "what the check says"
apply "$site/folder.yaml" --check
expect_applied 3 "a check with a folder that does not exist"
expect_contains "$APPLY_OUTPUT" "the directory /srv/nowhere does not exist" "what the check says"
expect_contains "$APPLY_OUTPUT" "c[001-003]:" "one cause for all"

step "two tasks that write one file"
apply "$site/owners.yaml"
expect_applied 3 "two owners of one file"
expect_contains "$APPLY_OUTPUT" "sets a different content of /var/tmp/owned than 'first' at owners.yaml:5" "both places"
! lab exec c001 test -e /var/tmp/owned || fail "one of the two wrote all the same"

step "an undefined variable, on one node"
apply "$site/undefined.yaml"
expect_applied 3 "an undefined variable"
expect_contains "$APPLY_OUTPUT" "templates/rack.j2:1:" "the place"
expect_contains "$APPLY_OUTPUT" "undefined variable 'rack_note'" "the message"
expect_equal "failed 1" "$(recap "$APPLY_RUN" c002 state) $(recap "$APPLY_RUN" c002 failed)" "c002"
for node in c001 c003; do lab exec "$node" test -e /var/tmp/rack || fail "$node did not finish"; done

step "broken YAML, unknown words"
mkdir "$scratch/site"
printf -- '- play: p\n  hosts: compute\n  tasks: [\n' >"$scratch/site/broken.yaml"
refused muster apply --yes "$scratch/site/broken.yaml"
expect_contains "$ERROR" "site/broken.yaml:3:10:" "the bracket that is not closed"
printf -- '- play: p\n  hosts: compute\n  tasks:\n    - name: x\n      fyle: {path: /x}\n' >"$scratch/site/word.yaml"
rm "$scratch/site/broken.yaml"
refused muster apply --yes "$scratch/site/word.yaml"
expect_contains "$ERROR" "site/word.yaml:5:7:" "the place of an unknown key"
expect_contains "$ERROR" "did you mean 'file'" "the nearest known word"
printf 'cluster: x\nnodes:\n  c001: {role: compute\n  c002: {}\n' >"$scratch/inventory.yaml"
refused muster inventory apply "$scratch/inventory.yaml"
expect_contains "$ERROR" "inventory.yaml:3:9:" "the bracket that is not closed"
{
  printf 'cluster: x\nnodes:\n'
  for node in {1..300}; do printf '  c%d: {roel: compute}\n' "$node"; done
} >"$scratch/inventory.yaml"
refused muster inventory check "$scratch/inventory.yaml"
expect_contains "$ERROR" "inventory.yaml:3:" "the first of hundreds of errors"
expect_contains "$ERROR" "inventory.yaml:302:" "the last of hundreds of errors"
mkdir -p "$scratch/layout/inventory"
cp -r "$(lab_folder)/inventory/." inventory/hardware "$scratch/layout/inventory/"
muster inventory check "$scratch/layout/inventory" || fail "hardware files are read as inventory"
muster inventory diff "$(lab_folder)/inventory" || fail "a refused inventory changed the one there was"

step "2 GiB, an alias bomb and a loop without end where YAML was expected"
rm "$scratch/site/word.yaml"
truncate --size 2G "$scratch/huge.yaml"
refused muster inventory apply "$scratch/huge.yaml"
expect_contains "$ERROR" "huge.yaml" "the name of the huge file"
expect_contains "$ERROR" "MiB" "how much is too much"
cp --sparse=always "$scratch/huge.yaml" "$scratch/site/huge.yaml"
refused muster apply --yes "$scratch/site/huge.yaml"
expect_contains "$ERROR" "huge.yaml" "the name of the huge playbook"
rm "$scratch/huge.yaml" "$scratch/site/huge.yaml"
{
  printf 'cluster: x\nvars:\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n'
  for level in {1..9}; do
    printf '  a%d: &a%d [%s]\n' "$level" "$level" "$(yes "*a$((level - 1))" | head -n 10 | paste -sd,)"
  done
} >"$scratch/inventory.yaml"
refused muster inventory apply "$scratch/inventory.yaml"
expect_contains "$ERROR" "inventory.yaml:" "the place of the alias bomb"
cat >"$scratch/site/endless.yaml" <<'YAML'
- play: p
  hosts: compute
  tasks:
    - name: x
      file:
        path: /var/tmp/endless
        content: "{% for a in range(9999) %}{% for b in range(9999) %}{{ a * b }}{% endfor %}{% endfor %}"
YAML
began=$SECONDS
apply "$scratch/site/endless.yaml"
expect_applied 3 "a loop without end"
expect_contains "$APPLY_OUTPUT" "endless.yaml:7:" "the place of the loop"
((SECONDS - began < 60)) || fail "a loop without end took $((SECONDS - began)) s"
rm "$scratch/site/endless.yaml"

step "a certificate of another authority"
since=$(now)
# shellcheck disable=SC2016  # the node's shell expands it
lab exec c003 sh -ec '
  cd /var/lib/muster
  systemctl stop muster-agent
  cp -p client.crt client.crt.kept
  san=$(openssl x509 -in client.crt -noout -ext subjectAltName | grep -o "URI:.*")
  printf "subjectAltName=%s\nextendedKeyUsage=clientAuth\n" "$san" >/tmp/extensions
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=other" \
    -keyout /tmp/ca.key -out /tmp/ca.crt
  openssl req -new -key client.key -subj "/O=muster:node/CN=c003" -out /tmp/node.csr
  openssl x509 -req -in /tmp/node.csr -CA /tmp/ca.crt -CAkey /tmp/ca.key -CAcreateserial -days 1 \
    -extfile /tmp/extensions -out client.crt
  systemctl start muster-agent' 2>/dev/null >/dev/null
wait_for 20 "the agent says that it is refused" agent_said c003 "$since" "muster-agent join --force"
agent_log c003 "$since" | tail -n 1
expect_contains "$(lab exec login1 journalctl -u musterd --no-pager -o cat --since="$since")" \
  "certificate was not issued by this cluster's authority" "the controller's log"
! connected c003 2>/dev/null || fail "c003 is let in with a foreign certificate"
lab exec c003 sh -c 'mv /var/lib/muster/client.crt.kept /var/lib/muster/client.crt; systemctl restart muster-agent'
wait_for 20 "c003 is back" connected c003

step "a second controller on the same store"
pid=$(lab exec login1 systemctl show -P MainPID musterd)
refused lab exec login1 musterd --config /etc/muster/controller.yaml
expect_contains "$ERROR" "process $pid holds the lock" "who has the store"

step "a full disk under the store"
# shellcheck disable=SC2016
lab exec login1 sh -ec '
  d=/var/lib/muster-controller
  systemctl stop musterd
  mv $d $d.kept
  install -d -o muster -g muster -m 700 $d
  mount -t tmpfs -o size=8m,mode=700,uid=$(id -u muster),gid=$(id -g muster) store $d
  cp -a $d.kept/. $d/
  systemctl start musterd'
wait_for 40 "all connected" connected 'c[001-003]'
runs=$(muster -o json run list)
lab exec login1 sh -c 'dd if=/dev/zero of=/var/lib/muster-controller/filler bs=4k 2>/dev/null || true'
refused muster apply --yes "$site/undefined.yaml"
expect_contains "$ERROR" "is full" "the message"
expect_contains "$ERROR" "df -h /var/lib/muster-controller" "the remedy"
expect_equal "$runs" "$(muster -o json run list)" "runs on a full disk"
lab exec login1 rm /var/lib/muster-controller/filler
apply "$site/package.yaml" --limit c001
expect_applied 0 "an apply after space was made"
muster audit verify || fail "the audit log was torn"
rm -r "$scratch"
echo PASSED
