#!/bin/bash
# Packages, repositories and module streams of a node whose packages are dnf's, with their faults:
# real dnf and rpm, in a node that says that it is Rocky Linux 9.
# shellcheck disable=SC2016  # what stands in single quotes is for the node's shell
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"

readonly source=tests/testdata/lab/dnf
scratch=$(mktemp -d)
clean() { rm -rf "$scratch"; }
mkdir -p "$scratch/files"
cp "$source/dnf.yaml" "$scratch"

node() { lab exec c001 "$@"; }
tag() { local tag=$1; shift; apply "$scratch/dnf.yaml" --tags "$tag" "$@"; }  # TAG ARGS…
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
version_of() { node rpm -q --qf '%{VERSION} ' "$1"; }  # PACKAGE
locks() { node sh -c 'grep -v "^#" /etc/dnf/plugins/versionlock.list' | xargs; }
rpm_works() { node pgrep -x -f 'sleep 6'; }

start_cluster 1
step "a node becomes one of Enterprise Linux 9"
lab exec c001 bash -s <"$source/make_el9.sh"
for key in a b; do lab exec c001 cat "/srv/$key.asc" >"$scratch/files/$key.asc"; done
join 'login1,c001'

step "a repository: wrong key, right key"
tag_fails repository "set the key that signs it in package_repository" -e key_name=b
node test ! -e /etc/yum.repos.d/site.repo || fail "the refused repository is there"
tag_done repository -e key_name=a
in_sync repository -e key_name=a
tag_done other

step "a pin, versions, a hold, back only when asked"
tag any_tool --check --diff
expect_contains "$APPLY_OUTPUT" "1 (2 with dependencies" "what the check foresees"
tag_fails junk "filtered out by exclude filtering"
tag_done any_tool
expect_equal "2.0 " "$(version_of tool)" "tool, of the preferred repository"
tag_fails tool "version 2.0-1.el9 is installed and newer than 1.1-1.el9" -e 'version=1.1*' --check
tag_fails tool "they have 9.0-1.el9, 2.0-1.el9, 1.1-1.el9, 1.0-1.el9" -e 'version=3*'
tag_done back -e 'version=1.0*'
expect_equal "1.0 " "$(version_of tool)" "tool"
tag_done one
in_sync one
expect_equal "1.1 " "$(version_of tool)" "tool, by a name that has its version"
tag_done back -e 'version=1.0*'
node rpm -q --quiet python3-dnf-plugin-versionlock && fail "versionlock is there before a hold"
tag_done tool -e 'version=1.0*'
expect_equal "4.3 " "$(version_of python3-dnf-plugin-versionlock)" "the plugin that a hold needs"
expect_equal "tool-0:1.0-1.el9.*" "$(locks)" "the lock"
tag_done newest
expect_equal "1.0 " "$(version_of tool)" "tool, which is held"
tag_done tool -e version=2.0-1.el9
expect_equal "2.0 tool-0:2.0-1.el9.*" "$(version_of tool)$(locks)" "tool, upgraded and still held"
in_sync tool -e 'version=2.*'
tag_done released
expect_equal "" "$(locks)" "locks"

step "one package in place of another, in one transaction"
tag_done old
tag_done new
expect_equal "1.0 " "$(version_of new)" "new"
in_sync new

step "module streams"
tag_fails stream "missing groups or modules: driver:9" -e stream=9 -e 'version=9*'
tag_done stream -e stream=535-dkms -e 'version=535.*'
expect_equal "535.104 " "$(version_of driver)" "driver"
in_sync stream -e stream=535-dkms -e 'version=535.*'
tag_done stream -e stream=550-open -e 'version=3:550.*'
expect_equal "550.54 " "$(version_of driver)" "driver of the other stream"
tag_done no_stream
in_sync no_stream

step "a package whose script fails: the reason, and out again"
tag_fails broken "no licence for this machine"
expect_contains "$APPLY_OUTPUT" "scriptlet failed, exit status 3" "the reason"
tag_done no_broken

step "dnf locked by another; killed in the middle, of an installation and of an upgrade"
node sh -c 'setsid dnf -y install slow-1.0 >/dev/null 2>&1 &'
wait_for 30 "another dnf at work" rpm_works
tag_done back -e version=1.1-1.el9
expect_contains "$(printed)" "waiting for the package lock held by dnf (pid " "who has the lock"
for version in 1.0 2.0; do
  [[ $version != 1.0 ]] || node dnf -y -q remove slow >/dev/null
  node sh -c "setsid dnf -y install slow-$version >/dev/null 2>&1 &"
  wait_for 30 "dnf at work on $version" rpm_works
  node sh -c 'pkill -KILL -x dnf; pkill -x -f "sleep 6"'
  tag_done slow -e "version=$version*"
  expect_contains "$(printed)" "repairing an interrupted package transaction: " "what the step says"
  expect_equal "$version " "$(version_of slow)" "slow"
  in_sync slow -e "version=$version*"
done

step "removal; and a node of the other family"
tag_done no_tool
in_sync no_tool
tag_done no_repository
expect_equal "" "$(node find /etc/yum.repos.d /etc/pki/rpm-gpg -type f)" "files of the repositories"
tag_fails apt_stream "this node's packages are apt's"
tag_fails apt_repository "write uris and suites"
echo PASSED
