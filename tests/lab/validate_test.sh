#!/bin/bash
# Suites on nodes with three GPUs each, which are fakes below the driver's interface: whole nodes
# pass, each kind of broken GPU is found and named, and mended it passes again. Slurm goes on.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"
# shellcheck source=tests/lab/fake_gpus.sh
source "$(dirname "$0")/fake_gpus.sh"

readonly site=tests/testdata/lab/validate
work=$(mktemp -d)

validate() { validate_nodes lab "$site" "$@"; }  # NODES ARGS…

GATE=on measured_cluster 2 bookworm --prepared --gpus 3
mkdir "$work/inventory"
cp "$(lab_folder)"/inventory/* "$work/inventory/"
cat >"$work/inventory/gpus.yaml" <<'YAML'
groups:
  cards: {nodes: "c[001-002]", vars: {gpu_model: NVIDIA GeForce RTX 2080 Ti, gpu_count: 3}}
YAML
muster inventory apply "$work/inventory" >/dev/null
join 'login1,c[001-002]'
apply playbooks/site.yaml
expect_applied 0 "rollout"
# Equally fast both ways, as what this host makes of links says nothing of nodes.
for node in c001 c002; do lab link "$node" rate=400mbit; done

step "whole nodes pass, and the report shows them"
validate compute
expect_equal 0 "$RC" "exit code of a pass"
wait_for 20 "both idle" nodes_idle c001 c002
muster validate report "$ID" "$work/report.html" >/dev/null
grep -q '<title>gpu 2 fp32</title>' "$work/report.html" || fail "the report shows no curve of the cards"

# A fault of the last card of c001, and what must be said of it.
faults=(
  'flipped bits|{"flips": {"kernel_every": 4}}|products differ'
  'missing|{"missing": true}|the driver sees 2 GPUs, not 3'
  'PCIe generation 1 under load|{"busy": {"pcie_generation": 1}}|PCIe'
  'thermal throttling|{"busy": {"temperature": 93, "clock_reasons": 64}}|hot'
  'hanging call|{"hang": ["nvmlDeviceGetTemperature"]}|has not answered for 2s'
)
for fault in "${faults[@]}"; do
  IFS='|' read -r name fields word <<<"$fault"
  step "$name: found and named"
  set_gpus c001 "$fields"
  validate c001
  expect_equal 1 "$RC" "$name: exit code"
  shown=$(muster validate show "$ID")
  expect_contains "${shown,,}" "${word,,}" "$name: what is said"
  expect_contains "$shown" "GPU-c001-2 in 0000:3d:00.0" "$name: the card's uuid and slot"
  wait_for 10 "$name: c001 is drained" is_drained_for c001 "muster:$ID failed"
done
step "mended: it passes again, and both are remembered"
set_gpus c001
validate compute
expect_equal 0 "$RC" "exit code after the repair"
wait_for 20 "both idle" nodes_idle c001 c002
history=$(muster validate history c001)
expect_contains "$history" "fail" "history of c001"
expect_contains "$history" "$ID" "history of c001"

step "evidence for the vendor"
muster validate rma c001 "$work/evidence.tar.gz" --limit 20 >/dev/null
tar -xzf "$work/evidence.tar.gz" -C "$work" README.txt
grep -q "products differ" "$work/README.txt" || fail "the evidence does not tell of the flipped bits"
grep -q "serial c0012" "$work/README.txt" || fail "the evidence does not name the card"
echo PASSED
