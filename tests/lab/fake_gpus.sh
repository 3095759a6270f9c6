# Faults of the three stand-in GPUs that a node of `lab up --gpus 3` has. Sourced after testing.sh;
# $work is the test's own folder.
# shellcheck shell=bash disable=SC2154

put() { lab exec "$1" sh -c "cat >$2.new && mv $2.new $2" <"$3"; }  # NODE PATH FILE

# Fewer than the eight that are compared with each other: how fast a host plays a GPU says nothing.
# Three cards, the last of which has `FIELDS` (JSON), whole when that is empty.
set_gpus() {  # NODE [FIELDS]
  python3 - "$1" "${2:-{\}}" >"$work/gpus.json" <<'PY'
import json, sys
node, fields = sys.argv[1], json.loads(sys.argv[2])
gpus = [{"preset": "rtx_2080_ti", "uuid": f"GPU-{node}-{n}", "serial": f"{node}{n}"} for n in range(3)]
if fields.pop("missing", False):
    del gpus[2]
else:
    gpus[2].update(fields)
print(json.dumps({"driver_version": "535.261.03", "gpus": gpus}))
PY
  put "$1" /etc/muster-fake-nvidia.json "$work/gpus.json"
}
