#!/bin/bash
# Packages, their repositories and units, with the faults that they have on real
# nodes: each is told with its reason, and mended where that can be.
# shellcheck disable=SC2016  # what stands in single quotes is for the node's shell
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"

readonly source=tests/testdata/lab/packages
scratch=$(mktemp -d)
clean() { gpgconf --homedir "$scratch/gpg" --kill all; rm -rf "$scratch"; }
"$source/make_repository.sh" "$scratch"
mkdir -p "$scratch/site/files"
cp "$source/packages.yaml" "$scratch/site"
cp "$scratch"/*.asc "$scratch/site/files"

node() { lab exec c001 "$@"; }
tag() {  # TAG ARGS…: applies the tasks of that tag
  local tag=$1
  shift
  apply "$scratch/site/packages.yaml" --tags "$tag" "$@"
}
tag_done() { tag "$@"; expect_applied 0 "$1"; }
tag_fails() {  # TAG WORDS ARGS…: with these words
  local tag=$1 words=$2
  shift 2
  tag "$tag" "$@"
  expect_applied 3 "$tag"
  expect_contains "$APPLY_OUTPUT" "$words" "the message"
}
in_sync() { tag "$@" --detailed-exitcode; expect_applied 0 "$1 again"; }
printed() { muster -o json run show "$APPLY_RUN" --steps; }  # all that the steps of the last run printed
state_of() { node dpkg-query -W -f '${db:Status-Want} ${db:Status-Status} ${Version}' "$1"; }  # PACKAGE
serve() { tar c -C "$scratch" repo | node sh -c 'rm -rf /srv/repo; tar x --no-same-owner -C /srv'; }
dpkg_works() { node pgrep -f slow.postinst; }
kill_agent() { node systemctl kill --kill-whom=main --signal=KILL muster-agent; }

# Starts an apply whose end `finish` awaits.
begin() {  # TAG
  ./dev lab muster --name "$LAB_TEST_NAME" apply --yes "$scratch/site/packages.yaml" --tags "$1" \
    </dev/null >"$scratch/output" 2>&1 &
  APPLY_PID=$!
}
finish() {
  APPLY_RC=0
  wait "$APPLY_PID" || APPLY_RC=$?
  APPLY_OUTPUT=$(<"$scratch/output")
  echo "$APPLY_OUTPUT"
  APPLY_RUN=$(sed -n 's/^run \(r-[^ ]*\) .*/\1/p' "$scratch/output" | tail -n 1)
}

start_cluster 1
join 'login1,c001'
serve
# For what the node itself serves, and so that a silent repository costs seconds.
node sh -c 'printf "Acquire::http::Proxy::127.0.0.1 \"DIRECT\";\nAcquire::http::Timeout \"1\";\n" >/etc/apt/apt.conf.d/90test'

step "a repository: wrong key, right key, key replaced, pins, a lie about its lists"
tag_fails repository "set the key that signs it in package_repository" -e key_name=b
node test ! -e /etc/apt/sources.list.d/local.sources || fail "the refused repository is there"
tag_done repository -e key_name=a
in_sync repository -e key_name=a
expect_contains "$(node apt-cache policy tool)" "Candidate: 1.1-1" "the pinned version"
"$scratch/sign" b
serve
tag_done repository -e key_name=b
echo >>"$scratch/repo/Packages"
"$scratch/sign" b
echo >>"$scratch/repo/Packages"
serve
node touch /etc/apt/sources.list.d/local.sources
tag_fails tool "serves something other than its lists promise" -e version=1.0-1
"$scratch/sign" b
serve

step "versions: exact, newest that matches, back only when asked; hold; purge"
tag_done tool -e version='1.0*'
expect_equal "hold installed 1.0-1" "$(state_of tool)" "tool"
tag_done newest
expect_equal "hold installed 1.0-1" "$(state_of tool)" "tool, which is held"
tag_done tool -e version=2.0-1
expect_equal "hold installed 2.0-1" "$(state_of tool)" "tool"
in_sync tool -e version='2.*'
tag_fails tool "version 2.0-1 is installed and newer than 1.0-1" -e version=1.0-1 --check
tag_fails tool "they have 2.0-1, 1.1-1, 1.0-1" -e version='3*'
tag_done back -e version=1.0-1
expect_equal "hold installed 1.0-1" "$(state_of tool)" "tool"
tag_done purge
node test ! -e /etc/tool || fail "the purge left configuration"
in_sync purge

step "the system's updates, from another source than the installer's; back to that"
site=$scratch/updates
mkdir -p "$site/playbooks"
cp -r playbooks/roles "$site/playbooks"
printf '%s\n' '- play: system updates' '  hosts: compute' \
  '  roles: [base, {role: os_updates, needs: [base], when: os_updates != "off"}]' >"$site/playbooks/updates.yaml"
node apt-get install -qq -y -o Dpkg::Use-Pty=0 part=1.0-1 kept=1.0-1
node apt-mark -qq auto part
node cp -r /srv/repo /srv/day
node apt-mark -qq hold kept
updates() {  # OS_UPDATES, then what replaces the installer's sources
  apply "$site/playbooks/updates.yaml" --detailed-exitcode -e base_packages=[] \
    -e os_updates="$1" -e os_repositories="${2:-[]}"
}
day=$(python3 -c 'import json, sys
print(json.dumps([{"name": "day", "uris": ["file:/srv/day"], "suites": ["./"], "allow_expired": True,
                   "key": open(sys.argv[1]).read()}]))' "$scratch/b.asc")
sources() { node sh -c 'cd /etc/apt; ls sources.list sources.list.disabled sources.list.d 2>/dev/null || true' | xargs; }
before=$(sources)
updates security "$day"
expect_applied 2 "another source"
expect_equal "1.0-1" "$(node dpkg-query -W -f '${Version}' part)" "a package without a security update"
expect_contains "$(sources)" "debian.sources.disabled local.sources os-day.sources" "the sources"
updates all "$day"
expect_applied 2 "the updates"
expect_equal "1.1-1" "$(node dpkg-query -W -f '${Version}' part)" "the package that came as a dependency"
expect_equal part "$(node apt-mark showauto part)" "what it came for"
expect_equal "1.0-1" "$(node dpkg-query -W -f '${Version}' kept)" "the package on hold"
updates all "$day"
expect_applied 0 "the updates again"
updates off
expect_applied 2 "the installer's sources"
expect_equal "$before" "$(sources)" "the sources"

step "snapshots: what upstream had, one after the other; what a node has asked for stays"
inventory=$(lab_folder)/inventory
mkdir -p "$inventory/group_vars" "$scratch/upstream/pool"
{
  printf '%s\n' 'snapshots:' '  own:' '    uris: http://127.0.0.1:8998' '    suites: stable' \
    '    components: main' "    architectures: $(dpkg --print-architecture)" '    key: |'
  sed 's/^/      /' "$scratch/b.asc"
} >"$inventory/snapshots.yaml"
upload() {
  tar c -C "$scratch/upstream" . |
    lab exec login1 sh -c 'rm -rf /srv/repo; mkdir /srv/repo; tar x --no-same-owner -C /srv/repo'
}
publish() {  # VERSION: the one of pair that upstream's index has from now on
  local dists=$scratch/upstream/dists/stable index file
  index=main/binary-$(dpkg --print-architecture)/Packages
  rm -rf "$dists"
  mkdir -p "$dists/${index%/*}"
  mkdir -p "$scratch/pair/DEBIAN"
  printf 'Package: pair\nVersion: %s\nArchitecture: all\nMaintainer: Nobody <nobody@example>\nDescription: test\n' \
    "$1" >"$scratch/pair/DEBIAN/control"
  dpkg-deb --root-owner-group -Zgzip -b "$scratch/pair" "$scratch/upstream/pool/pair_$1_all.deb" >/dev/null
  (cd "$scratch/upstream" && dpkg-scanpackages --multiversion pool 2>/dev/null) |
    awk -v RS= -v ORS='\n\n' -v version="$1" '$0 ~ "\nVersion: " version "\n"' >"$dists/$index"
  xz -k "$dists/$index"
  {
    printf 'Suite: stable\nCodename: stable\nComponents: main\nArchitectures: %s\nDate: %s\n' \
      "$(dpkg --print-architecture)" "$(date -Ru)"
    # It has passed when the nodes read it.
    printf 'Valid-Until: %s\nSHA256:\n' "$(date -Ru -d '+20 seconds')"
    for file in "$index" "$index.xz"; do
      printf ' %s %s %s\n' "$(sha256sum <"$dists/$file" | cut -d' ' -f1)" "$(stat -c %s "$dists/$file")" "$file"
    done
  } >"$dists/Release"
  gpg --homedir "$scratch/gpg" --batch --quiet --local-user b@example --clearsign \
    --output "$dists/InRelease" "$dists/Release"
  upload
}
choose() {  # SNAPSHOT: for all nodes, by the inventory
  echo "os_snapshot: \"$1\"" >"$inventory/group_vars/all.yaml"
  muster inventory apply "$inventory" >/dev/null
}
take() {  # OS_UPDATES
  apply "$site/playbooks/updates.yaml" --detailed-exitcode -e 'base_packages=["pair"]' \
    -e os_updates="$1"
}
pair_version() { node dpkg-query -W -f '${Version}' pair; }
lab exec login1 sh -c 'cat >/run/server.pl' <"$source/moody_server.pl"
lab exec login1 systemd-run --quiet --unit=upstream perl /run/server.pl calm
wait_for 10 "upstream" lab exec login1 perl -MIO::Socket::INET -e 'exit !IO::Socket::INET->new("127.0.0.1:8998")'
choose ""
publish 1.0-1
muster snapshot create A
publish 1.1-1
muster snapshot create B
expect_contains "$(muster snapshot diff A B)" "~ 1.0-1 -> 1.1-1: pair" "the difference"
sleep 20  # until the lists have expired
choose A
take all
expect_applied 2 "snapshot A"
expect_equal "1.0-1" "$(pair_version)" "the version of snapshot A"
expect_contains "$(sources)" "debian.sources.disabled local.sources os-own.sources" "the sources"
rm "$scratch/upstream/pool/pair_1.0-1_all.deb"  # upstream has only the new one now
upload
node apt-get purge -qq -y pair
node apt-get clean
take all
expect_applied 2 "snapshot A without its upstream"
expect_equal "1.0-1" "$(pair_version)" "the version that the controller has kept"
choose B
take all
expect_applied 2 "snapshot B"
expect_equal "1.1-1" "$(pair_version)" "the version of snapshot B"
take all
expect_applied 0 "snapshot B again"
refused=$(muster snapshot remove B 2>&1) && fail "a snapshot in use was removed"
expect_contains "$refused" "group_vars/all.yaml:1" "who uses it"
choose C
take all
expect_contains "$APPLY_OUTPUT" "os_snapshot is 'C', which the controller does not have" "an unknown snapshot"
choose ""
take off
expect_applied 2 "the installer's sources instead of a snapshot"
expect_equal "$before" "$(sources)" "the sources"
muster snapshot remove A
lab exec login1 systemctl stop upstream.service

step "a package that lies about its content"
sed -i '/^Package: forged/,/^$/s/^SHA256: ..../SHA256: 0000/' "$scratch/repo/Packages"
"$scratch/sign" b
serve
node touch /etc/apt/sources.list.d/local.sources
tag_fails forged "Hash Sum mismatch; the repository, or a cache in between, serves something other"
! state_of forged 2>/dev/null || fail "the forged package is known to dpkg"

step "a package whose script fails: the reason, all of the output elsewhere, and out again"
tag_fails broken "broken: installed broken package post-installation script subprocess returned error exit status 3"
expect_contains "$APPLY_OUTPUT" "no licence for this machine" "the script's words"
[[ $APPLY_OUTPUT != *"Reading package lists"* ]] || fail "the message has all of the output"
expect_contains "$(muster run show "$APPLY_RUN" --failed)" "Reading package lists" "run show"
tag_done no_broken
! state_of broken 2>/dev/null | grep -v deinstall || fail "the broken package is still there"

step "the agent killed in the middle of apt; then apt killed and dpkg left half-way"
begin slow
wait_for 30 "apt at work" dpkg_works
kill_agent
finish
expect_applied 0 "a transaction without its agent"
expect_equal "install installed 1.0" "$(state_of slow)" "slow"
node apt-get purge -qq -y slow >/dev/null 2>&1
begin slow
wait_for 30 "apt at work" dpkg_works
node sh -c 'kill -KILL $(pgrep -x apt-get) $(pgrep -x dpkg)'
finish
expect_applied 3 "a killed apt"
expect_contains "$(state_of slow)" "half-configured" "slow"
tag_done slow
expect_contains "$(printed)" "repairing an interrupted package transaction of slow" "what the step says"
expect_equal "install installed 1.0" "$(state_of slow)" "slow"

step "apt locked by another"
node apt-get purge -qq -y slow >/dev/null 2>&1
node sh -c 'setsid apt-get install -qq -y slow >/dev/null 2>&1 &'
wait_for 30 "another apt at work" dpkg_works
tag_done tool -e version=2.0-1
expect_contains "$(printed)" "waiting for the package lock held by apt-get (pid " "who has the lock"

step "a repository that does not answer"
node systemd-run --quiet --socket-property=ListenStream=127.0.0.1:8999 --unit=silent sleep 300
tag_fails silent "does the node reach it?"
node systemctl stop silent.socket silent.service
node test ! -e /etc/apt/sources.list.d/silent.sources || fail "the silent repository is there"
tag_done no_repository
node sh -c 'ls /etc/apt/*/local.*' 2>/dev/null && fail "the repository left files"

step "a repository that answers with an error once"
# As on a node whose administrator has not heard of what that does to apt 2.6.
node sh -c 'echo "Acquire::Retries::Delay \"true\";" >/etc/apt/apt.conf.d/91test'
lab exec c001 sh -c 'cat >/run/moody_server.pl' <"$source/moody_server.pl"
node systemd-run --quiet --unit=moody perl /run/moody_server.pl
wait_for 10 "the moody server" node perl -MIO::Socket::INET -e 'exit !IO::Socket::INET->new("127.0.0.1:8998")'
tag_done moody
tag_done no_moody
node systemctl stop moody.service

step "units: an instance, a timer, a mask; a service that fails, and its drop-in"
tag_done units
in_sync units
expect_equal "active active masked" "$(node sh -c 'echo $(systemctl is-active each@one.service nightly.timer; systemctl is-enabled sleep.target)')" "units"
tag_fails worker "bad licence"
expect_contains "$APPLY_OUTPUT" "starting worker.service: it started and failed at once; the end of its journal:" "why"
tag_done drop_in
tag_done worker  # of the first drop-in in a new folder, systemd itself says NeedDaemonReload=no
expect_equal "active start.conf" "$(node systemctl show -P ActiveState -P DropInPaths worker.service | xargs -n1 basename | xargs)" "the mended worker"

step "a job that takes too long; the agent killed in the middle of one"
tag_fails patient "start operation timed out"
tag_done time_enough
begin patient
wait_for 20 "the job" node sh -c '[ "$(systemctl is-active patient.service)" = activating ]'
kill_agent
finish
expect_applied 0 "a job without its agent"
expect_equal active "$(node systemctl is-active patient.service)" "patient.service"

step "a validate command that refuses"
tag_done checked -e content=good
tag_fails checked "the new content of /etc/checked" -e content=bad
expect_equal good "$(node cat /etc/checked)" "the old content"

step "the agent's own package removed and installed again: the node comes back, unless its agent was disabled"
connected() { muster -o json node list c001 | read_json 'assert value["nodes"][0]["connected"]'; }
node sh -c 'cat >/run/agent.deb' <build/release/packages/muster-agent_*.deb
reinstall() {
  node apt-get remove -qq -y muster-agent >/dev/null
  node dpkg -i /run/agent.deb >/dev/null
}
reinstall
wait_for 60 "the agent that was installed again" node muster-agent check
wait_for 60 "the node" connected
expect_equal enabled "$(node systemctl is-enabled muster-agent)" "its unit"
node test ! -e /var/lib/muster/removed || fail "the removal's mark is still there"
node systemctl disable --quiet --now muster-agent
reinstall
expect_equal "disabled inactive" "$(node sh -c 'echo $(systemctl is-enabled muster-agent; systemctl is-active muster-agent)')" "a unit that was disabled"
refused=$(node muster-agent check 2>&1) && fail "the check of an agent that does not run passed"
expect_contains "$refused" "systemctl enable --now muster-agent" "its remedy"
node systemctl enable --quiet --now muster-agent
wait_for 60 "the node" connected
echo PASSED
