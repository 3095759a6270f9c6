#!/bin/bash
# Downloads and archives on a real node: cut off, killed in the middle, hostile.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"

scratch=$(mktemp -d)
readonly data=tests/testdata/lab/transfer web=$scratch/web counts=$scratch/counts
mkdir -p "$web" "$scratch/site/files"
cp "$data"/*.yaml "$scratch/site"

sha() { sha256sum "$1" | cut -d ' ' -f 1; }
sent() { read_json 'print(value.get(sys.argv[1], 0))' "$1" <"$counts" 2>/dev/null || echo 0; }  # NAME
sent_more_than() { (($(sent "$1") > $2)); }  # NAME BYTES
on_node() { lab exec c001 "$@"; }

step "what the web has"
head -c 12M /dev/urandom >"$web/big"
python3 - "$web" "$scratch/site/files" <<'PYTHON'
import io, sys, tarfile

def make(path, entries):
    with tarfile.open(path, "w:gz") as tar:
        for name, kind, value in entries:
            info = tarfile.TarInfo(name)
            info.type, info.mode = kind, 0o755
            data = value if kind == tarfile.REGTYPE else ""
            info.linkname = "" if kind == tarfile.REGTYPE else value
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data.encode()))

file, link, hard = tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE
web, site = sys.argv[1:]
make(f"{web}/app.tar.gz", [("app-1/bin/tool", file, "#!/bin/sh\necho one\n"), ("app-1/now", link, "bin/tool")])
make(f"{site}/tools.tar.gz", [("bin/hello", file, "#!/bin/sh\necho hello\n")])
make(f"{web}/climbs.tar.gz", [("fine", file, "x"), ("../../climbed", file, "x")])
make(f"{web}/link.tar.gz", [("fine", file, "x"), ("out", link, "/etc/shadow")])
make(f"{web}/through.tar.gz", [("d", link, "e"), ("d/f", file, "x")])
make(f"{web}/hard.tar.gz", [("out", hard, "/etc/shadow")])
PYTHON

start_cluster 1
address=10.77.$(<"$(lab_folder)/subnet").2
nsenter --net="/run/netns/muster-$LAB_TEST_NAME" \
  python3 "$data/server.py" "$address" 8080 "$web" "$counts" &
server=$!
clean() { kill "$server"; rm -rf "$scratch"; }
join c001
good=("$scratch/site/good.yaml" -e "web=$address" -e "big=$(sha "$web/big")")
app=(-e "app=$(sha "$web/app.tar.gz")")

step "a dead mirror, a cut, and the agent killed in the middle"
./dev lab muster --name "$LAB_TEST_NAME" apply --yes "${good[@]}" "${app[@]}" </dev/null >"$scratch/output" 2>&1 &
apply=$!
wait_for 30 "the download begins ahead of its step" sent_more_than big 1000000
[[ $(on_node ls /srv) != *big* ]] || fail "the file is there before it is whole"
wait_for 30 "half of it" sent_more_than big 6000000
on_node systemctl kill --kill-whom=main --signal=KILL muster-agent
wait "$apply" || { cat "$scratch/output"; fail "the apply"; }
cat "$scratch/output"
expect_equal "$(sha "$web/big")" "$(on_node sha256sum /srv/big | cut -d ' ' -f 1)" "the file"
expect_equal "640 root" "$(on_node stat -c '%a %U' /srv/big)" "its mode"
echo "sent $(sent big) bytes of $(stat -c %s "$web/big")"
(($(sent big) < 2 * $(stat -c %s "$web/big"))) || fail "the download began anew: $(sent big) bytes"
expect_equal one "$(on_node /opt/app/now)" "the archive"
expect_equal hello "$(on_node hello)" "the archive of the site"
is_tidy() { [[ -z $(on_node ls /var/lib/muster/blobs) ]]; }
wait_for 10 "nothing is left behind" is_tidy

step "a second apply fetches and changes nothing"
before=$(sent big)/$(sent app.tar.gz)
apply "${good[@]}" "${app[@]}"
expect_applied 0 "the second apply"
expect_equal "0 $before" "$(recap "$APPLY_RUN" c001 changed) $(sent big)/$(sent app.tar.gz)" "changes"

step "what drifted is unpacked again, a newer archive replaces the old"
on_node sh -c 'echo broken >/opt/app/bin/tool'
python3 - "$web" <<'PYTHON'
import io, sys, tarfile
with tarfile.open(f"{sys.argv[1]}/app.tar.gz", "w:gz") as tar:
    info = tarfile.TarInfo("app-2/now")
    data = b"#!/bin/sh\necho two\n"
    info.mode, info.size = 0o755, len(data)
    tar.addfile(info, io.BytesIO(data))
PYTHON
apply "${good[@]}" "${app[@]}" --check
expect_equal 1 "$(recap "$APPLY_RUN" c001 changed)" "steps that would repair the drift"
apply "${good[@]}" -e "app=$(sha "$web/app.tar.gz")"
expect_equal "two now" "$(on_node /opt/app/now) $(on_node ls /opt/app)" "the newer archive"

step "refused: a wrong digest, a full disk, archives that lead out"
bad() {  # NAME TARGET SHA PARTS…
  apply "$scratch/site/bad.yaml" -e "web=$address" -e "name=$1" -e "target=$2" -e "sha=$3"
  expect_applied 3 "$1"
  [[ $APPLY_OUTPUT != *hunter2* ]] || fail "the signature is shown"
  local part
  for part in "${@:4}"; do expect_contains "$APPLY_OUTPUT" "$part" "$1"; done
}
bad big /srv/wrong "$(sha "$web/app.tar.gz")" "has sha256 $(sha "$web/big")" "expected $(sha "$web/app.tar.gz")"
on_node sh -c 'mkdir /srv/small && mount -t tmpfs -o size=1m small /srv/small'
bad big /srv/small/big "$(sha "$web/big")" "no space left" "df /srv/small"
bad climbs.tar.gz /srv/x "$(sha "$web/climbs.tar.gz")" "'../../climbed'" "'..'"
bad link.tar.gz /srv/x "$(sha "$web/link.tar.gz")" "'out'" "/etc/shadow" "leaves the target"
bad through.tar.gz /srv/x "$(sha "$web/through.tar.gz")" "'d/f'" "symbolic link"
bad hard.tar.gz /srv/x "$(sha "$web/hard.tar.gz")" "'out'" "leaves the archive"
expect_equal "big small waited" "$(on_node ls -A /srv | xargs)" "what refused ones left in /srv"
expect_equal "" "$(on_node ls -A /srv/small)" "what a full disk left"
echo PASSED
