#!/bin/bash
# The agent in the root of an image that an unprivileged user has made: a plan leaves in it what lasts
# and nothing else, starts nothing, and changes nothing when it is run again. No machine is booted.
# shellcheck disable=SC2016  # what stands in single quotes is for the root's shell
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"
# shellcheck source=tools/lab/image/sources.sh
source tools/lab/image/sources.sh

readonly data=tests/testdata/lab/root user=$LAB_TEST_NAME
work=$(mktemp -d)
proxy_pid=
clean() {
  if [[ $proxy_pid ]]; then kill "$proxy_pid"; fi
  rm -rf "$work"
  userdel "$user" 2>/dev/null
}
userdel "$user" 2>/dev/null || true
useradd --no-create-home --home-dir "$work" "$user"
chmod 755 "$work"
mkdir -p "$work/in/blobs" "$work/out" "$work/tmp"
chown "$user:" "$work" "$work/out" "$work/tmp"

as_user() { runuser -u "$user" -- "$@"; }
mapped() { (cd "$work" && as_user unshare --user --map-auto --map-root-user "$@"); }
inside() {  # CMD…: in the root, as its root
  mapped --mount bwrap --die-with-parent --unshare-pid --unshare-ipc --unshare-uts \
    --bind root / --dev /dev --proc /proc --tmpfs /run \
    --ro-bind /etc/resolv.conf /etc/resolv.conf \
    --ro-bind in /run/image/in --bind out /run/image/out "$@" </dev/null
}
encode() { protoc -Iproto --encode=muster.v1.Plan proto/muster/v1/plan.proto; }
decode() { protoc -Iproto --decode="muster.v1.$1" "proto/muster/v1/$2.proto"; }
# Runs a plan; leaves its exit code in RC, what was printed in SAID, and the names of the processes
# that are in the root afterwards in RUNNING.
apply_plan() {  # NAME ARGS…: in/NAME.plan to out/NAME.report
  RC=0
  show inside sh -c 'muster-agent image apply "$@"
    rc=$?
    cat /proc/[0-9]*/comm >/run/image/out/running
    exit $rc' sh --plan "/run/image/in/$1.plan" --blobs /run/image/in/blobs \
    --report "/run/image/out/$1.report" "${@:2}" || RC=$?
  RUNNING=$(sort -u "$work/out/running" | xargs)
}
report() { decode ImageApplyReport image <"$work/out/$1.report"; }  # NAME
# "STATUS MESSAGE" of a step.
outcome_of() {  # NAME STEP
  report "$1" | awk -v step="\"$2\"" '
    /^results {/ {mine = 0}
    $1 == "step_id:" {mine = $2 == step}
    mine && $1 == "status:" {sub("STEP_STATUS_", "", $2); printf "%s", $2}
    mine && /^  message:/ {sub("^  message: ", ""); printf " %s", $0}'
}
# Every file with its content, owner, mode and target, without what apt and dpkg themselves keep.
root_state() {
  mapped sh -c 'cd root && find . -xdev -not -path "./var/lib/apt/*" -not -path "./var/cache/*" \
    -not -path "./var/log/*" \( -type f -exec sha256sum {} + -o -true \) -printf "%p %y %m %U:%G %l\n" | sort'
}

step "an unprivileged user makes a root, and the agent is installed in it"
image_sources bookworm | sed 's/ contrib.*//' >"$work/sources"
as_user env TMPDIR="$work/tmp" mmdebstrap --mode=unshare --variant=apt --format=tar \
  --include=systemd,systemd-sysv,dbus bookworm "$work/root.tar" "$work/sources" >"$work/log" 2>&1 ||
  { tail "$work/log"; fail "mmdebstrap"; }
mapped sh -c 'mkdir root && tar -C root -xpf root.tar --exclude="./dev/*"'
cp build/release/packages/muster-agent_*.deb "$work/in/agent.deb"
inside sh -c 'apt-get update -q && apt-get install -q -y --no-install-recommends /run/image/in/agent.deb' \
  >"$work/log" 2>&1 || { tail "$work/log"; fail "installing the agent"; }
as_user test ! -e "$work/root/var/lib/muster" || fail "the agent's package has state"

step "facts are the root's, not those of this machine"
inside sh -c 'muster-agent image facts >/run/image/out/facts'
facts=$(decode Facts facts <"$work/out/facts")
expect_contains "$facts" 'codename: "bookworm"' "facts"
expect_contains "$facts" 'packages {' "facts"
for host in "$(uname -r)" "$(cat /proc/sys/kernel/random/boot_id)" memory disks nics; do
  [[ $facts != *"$host"* ]] || fail "facts of this machine: $host in $facts"
done

step "a plan, with packages through a proxy"
echo "blob content" >"$work/blob"
blob=$(sha256sum <"$work/blob" | cut -d' ' -f1)
mkdir "$work/tree"
echo "in the archive" >"$work/tree/file"
tar -C "$work/tree" -czf "$work/archive" file
archive=$(sha256sum <"$work/archive" | cut -d' ' -f1)
cp "$work/blob" "$work/in/blobs/$blob"
cp "$work/archive" "$work/in/blobs/$archive"
sed "s/@BLOB@/$blob/; s/@ARCHIVE@/$archive/; s/@ARCHIVE_SIZE@/$(stat -c %s "$work/archive")/" \
  "$data/plan.textproto" | encode >"$work/in/first.plan"
"$data/proxy.py" >"$work/proxied" &
proxy_pid=$!
wait_for 10 "the proxy" test -s "$work/proxied"
swappiness=$(cat /proc/sys/vm/swappiness)
apply_plan first --proxy "http://127.0.0.1:$(head -n 1 "$work/proxied")"
expect_equal 0 "$RC" "exit code"
expect_contains "$(report first)" "succeeded: true" "the report"
expect_contains "$(report first)" "policy-rc.d denied execution of start" "what packages said"
expect_contains "$(<"$work/proxied")" "/munge_" "what came through the proxy"
expect_contains "$SAID" "changed  files/user  user[alice]" "what was printed"
expect_equal "bwrap sh" "$RUNNING" "processes in the root"
for left in packages/started system/reboot system/mkfs system/accounts packages/handler/restart; do
  expect_equal 'SKIPPED "only on a running node"' "$(outcome_of first "$left")" "$left"
  [[ $SAID != *"$left"* ]] || fail "$left is printed"
done
expect_equal OK "$(outcome_of first files/systemctl)" "systemctl restart by a command"

step "what is in the root"
inside sh -ec '
  same() { [ "$1" = "$2" ] || { echo "$3: want $1, got $2"; exit 1; }; }
  same "munge chrony cron" "$(for p in munge chrony cron; do dpkg-query -W -f "\${Package}" $p; echo; done | xargs)" packages
  same enabled "$(SYSTEMD_OFFLINE=1 systemctl is-enabled chrony)" chrony
  same disabled "$(SYSTEMD_OFFLINE=1 systemctl is-enabled munge)" munge
  same masked "$(SYSTEMD_OFFLINE=1 systemctl is-enabled cron)" cron
  same enabled "$(SYSTEMD_OFFLINE=1 systemctl is-enabled scratch.mount)" mount
  same "4001 4000 /home/alice" "$(getent passwd alice | awk -F: "{print \$3, \$4, \$6}")" alice
  same "alice hpc 600" "$(stat -c "%U %G %a" /home/alice/.ssh/authorized_keys)" keys
  same "alice hpc 750" "$(stat -c "%U %G %a" /opt/site)" directory
  same "blob content" "$(cat /opt/site.conf)" content
  same "root hpc 640" "$(stat -c "%U %G %a" /opt/site.conf)" "owner of the content"
  same site "$(readlink /opt/link)" link
  same muster "$(tail -n 1 /etc/motd)" line
  same "in the archive" "$(cat /opt/archive/file)" archive
  same indexed "$(cat /opt/index)" handler
  same root-test "$(cat /etc/hostname)" hostname
  grep -q "^vm.swappiness = 3$" /etc/sysctl.d/60-muster-vm.swappiness.conf
  grep -q "^net.core.somaxconn = 4099$" /etc/sysctl.d/60-muster-net.conf
  grep -q "^no_such_module$" /etc/modules-load.d/muster-no_such_module.conf
  same records "$(ls /var/lib/muster)" "state of the agent"
  same "700 700" "$(stat -c %a /var/lib/muster /var/lib/muster/records | xargs)" "modes of the state"
  for none in /usr/sbin/policy-rc.d /var/log/munge/munged.log /run/munge/munged.pid /scratch \
      /etc/apt/apt.conf.d/*muster*; do
    [ ! -e "$none" ] || { echo "$none is there"; exit 1; }
  done
  same "" "$(ls /var/cache/apt/archives | grep -E "munge|chrony" || true)" "archives of packages"
' || fail "the root is not as the plan says"
grep -rqsF "127.0.0.1:$(head -n 1 "$work/proxied")" "$work/root/etc" && fail "the proxy is in the root"
expect_equal "$swappiness" "$(cat /proc/sys/vm/swappiness)" "vm.swappiness of this machine"

step "once more: nothing changes"
root_state >"$work/before"
apply_plan first
expect_equal 0 "$RC" "exit code"
expect_equal "" "$SAID" "what was printed"
root_state >"$work/after"
cmp "$work/before" "$work/after" || fail "the second apply changed: $(diff "$work/before" "$work/after" | head)"

step "no service may start while a plan is run, and a stopped plan leaves no trace of that"
encode >"$work/in/stopped.plan" <<'PLAN'
plan_id: "image/stopped" node_uuid: "u" sequence: 1
roles {
  name: "r"
  steps { step_id: "r/banned" command { argv: "sh" argv: "-c"
    argv: "invoke-rc.d cron start 2>/run/image/out/said; mv /run/image/out/said /run/image/out/ban; sleep 3" creates: "/run/image/out/ban" } }
  steps { step_id: "r/never" file { path: "/opt/never" content: "x" } }
}
PLAN
RC=0
inside bash -c 'muster-agent image apply --plan /run/image/in/stopped.plan --blobs /run/image/in/blobs \
    --report /run/image/out/stopped.report & pid=$!
  until [[ -e /run/image/out/ban ]]; do sleep 0.1; done
  kill -TERM $pid; wait $pid' || RC=$?
expect_equal 1 "$RC" "exit code of what was stopped"
expect_contains "$(report stopped)" "stopped by a signal" "the report"
expect_contains "$(<"$work/out/ban")" "policy-rc.d denied execution of start" "the ban of services"
for none in opt/never usr/sbin/policy-rc.d; do
  [[ ! -e $work/root/$none ]] || fail "$none is there"
done

step "a step that fails: its message, its output, and what comes after it"
encode >"$work/in/fails.plan" <<'PLAN'
plan_id: "image/fails" node_uuid: "u" sequence: 1
roles {
  name: "r"
  steps { step_id: "r/fails" command { argv: "sh" argv: "-c" argv: "echo the reason; exit 3" creates: "/x" } }
  steps { step_id: "r/never" file { path: "/opt/never" content: "x" } }
}
PLAN
apply_plan fails
expect_equal 1 "$RC" "exit code of a failure"
expect_contains "$SAID" "the reason" "output of what failed"
expect_contains "$(outcome_of fails r/fails)" "FAILED" "the step"
expect_contains "$(outcome_of fails r/never)" "SKIPPED" "the step after it"

step "it refuses a machine"
RC=0
said=$(build/release/bin/muster-agent image apply --plan "$work/in/fails.plan" \
  --blobs "$work/in/blobs" --report "$work/out/machine.report" 2>&1) || RC=$?
expect_equal 1 "$RC" "exit code on this machine"
[[ $said == *"not the root of an image"* ]] || fail "on this machine: $said"
