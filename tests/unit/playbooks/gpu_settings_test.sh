#!/bin/bash
# The program of the role gpu_settings against a stand-in for nvidia-smi that keeps a state.
# Usage: gpu_settings_test.sh, in the root of the tree.
set -euo pipefail

readonly program=playbooks/roles/gpu_settings/files/gpu-settings
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export FAKE_NVIDIA_SMI=$work/smi FAKE_NVIDIA_SMI_BOOT=$work/boot-id PATH=$work/bin:/usr/sbin:/usr/bin:/sbin:/bin
readonly root=$work/root
echo first >"$FAKE_NVIDIA_SMI_BOOT"

fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
expect_equal() { [[ $1 == "$2" ]] || fail "$3: '$2', not '$1'"; }         # WANTED GOT WHAT
expect_contains() { [[ $1 == *"$2"* ]] || fail "$3: no '$2' in: $1"; }    # TEXT PART WHAT

# Runs the program: `status` and `output` are the result.
settings() {  # VERB
  status=0
  output=$(bash "$program" "$1" "$root" 2>&1) || status=$?
}
expect() {  # STATUS VERB WHAT
  settings "$2"
  [[ $status == "$1" ]] || fail "$3: exit status $status, not $1: $output"
}
calls() { cat "$FAKE_NVIDIA_SMI/calls" 2>/dev/null || true; }
# Of a GPU, as JSON without blanks.
of() {  # UUID FIELD
  python3 -c '
import json, sys
gpu, = [gpu for gpu in json.load(open(sys.argv[1])) if gpu["uuid"] == sys.argv[2]]
print(json.dumps(gpu[sys.argv[3]], separators=(",", ":")))' "$FAKE_NVIDIA_SMI/gpus.json" "$@"
}
instances() { of "$1" instances | grep -oE '\["[^"]*",' | tr -d '[",' | paste -sd' '; }  # UUID
change() {  # UUID FIELD JSON
  python3 -c '
import json, sys
gpus = json.load(open(sys.argv[1]))
for gpu in gpus:
    if gpu["uuid"] == sys.argv[2]:
        gpu[sys.argv[3]] = json.loads(sys.argv[4])
json.dump(gpus, open(sys.argv[1], "w"))' "$FAKE_NVIDIA_SMI/gpus.json" "$@"
}

# A node as after its boot, with these GPUs: h200, a100 or 2080.
node() {  # GPU…
  rm -rf "${work:?}"/{root,smi,bin}
  mkdir -p "$root"/{etc,run,proc,sys/module/nvidia} "$FAKE_NVIDIA_SMI" "$work/bin"
  ln -s "$PWD/tests/fakes/nvidia/nvidia-smi" "$work/bin/nvidia-smi"
  printf '#!/bin/sh\n[ -e "%s/slurmd" ]\n' "$work/smi" >"$work/bin/systemctl"
  printf '#!/bin/sh\n[ ! -e "%s/no-squeue" ] || { echo "slurm_load_jobs error: Unable to contact slurm controller"; exit 1; }\ncat "%s/jobs"\n' \
    "$work/smi" "$work/smi" >"$work/bin/squeue"
  chmod 755 "$work"/bin/*
  python3 - "$FAKE_NVIDIA_SMI/gpus.json" "$@" <<'PY'
import json, sys
kinds = {
    "h200": {"name": "NVIDIA H200", "generation": "hopper", "power": [700, 200, 700, 700], "ecc": [1, 1], "mig": [0, 0],
             "graphics": [None, 1980, 345], "memory": [None, 3201, 3201],
             "profiles": {"1g.18gb": [1, 1, 7], "1g.18gb+me": [1, 1, 1], "2g.35gb": [2, 2, 3], "3g.71gb": [3, 4, 2],
                          "7g.141gb": [7, 8, 1]}},
    "a100": {"name": "NVIDIA A100-SXM4-40GB", "generation": "ampere", "power": [400, 100, 400, 400], "ecc": [1, 1],
             "mig": [0, 0], "graphics": [None, 1410, 210], "memory": [None, 1215, 1215],
             "profiles": {"1g.5gb": [1, 1, 7], "3g.20gb": [3, 4, 2]}},
    "2080": {"name": "NVIDIA GeForce RTX 2080 Ti", "generation": "geforce", "power": [250, 100, 280, 250],
             "graphics": [None, 2100, 300], "memory": [None, 7000, 405]},
}
gpus = []
for at, kind in enumerate(sys.argv[2:]):
    gpus.append(dict(kinds[kind], uuid=f"GPU-{at}", compute_mode="Default", instances=[]))
json.dump(gpus, open(sys.argv[1], "w"))
PY
}
# The file that the role writes, with these lines.
want() {  # LINE…
  printf '%s\n' "node c001" "reset ${reset:-no}" "wait 0" "type h200 NVIDIA H200" "type a100_sxm4 NVIDIA A100-SXM4-40GB" "$@" \
    >"$root/etc/muster-gpu-settings.conf"
}
# A process of the node: its name, its arguments, and a file that it has open.
process() {  # PID NAME ARGS [FILE]
  mkdir -p "$root/proc/$1/fd"
  echo "$2" >"$root/proc/$1/comm"
  printf '%s\0' "$3" >"$root/proc/$1/cmdline"
  [[ -z ${4:-} ]] || ln -s "$4" "$root/proc/$1/fd/3"
}
# The driver is another load of the module.
load_driver() {
  mkdir "$root/sys/module/new"
  rmdir "$root/sys/module/nvidia"
  mv "$root/sys/module/new" "$root/sys/module/nvidia"
  echo again >>"$FAKE_NVIDIA_SMI_BOOT"
}
reboot() {
  rm -r "$root/run"
  mkdir "$root/run"
  load_driver
}

echo "== what the role writes: models and indices"
node h200 h200 2080
cp tests/testdata/gpu_settings/node.conf "$root/etc/muster-gpu-settings.conf"
expect 1 check "a fresh node"
for part in "GPU 0 (NVIDIA H200): mig is Disabled, not Enabled" "GPU 0 (NVIDIA H200): power_limit_watts is 700.00, not 600" \
  "GPU 2 (NVIDIA GeForce RTX 2080 Ti): power_limit_watts is 250.00, not 200" \
  "GPU 1 (NVIDIA H200): graphics_clock_mhz is not locked, not 1200 1500"; do
  expect_contains "$output" "$part" "what differs"
done
[[ $output != *"GPU 1 (NVIDIA H200): mig"* ]] || fail "GPU 1 has no MIG: $output"
[[ $output != *"compute_mode"* && $output != *"ecc"* ]] || fail "what is as it should be: $output"
[[ -z $(calls) ]] || fail "a check changes: $(calls)"
expect 1 applied "a fresh node"
expect 0 apply "the settings"
expect 0 check "the settings"
expect_equal "2g.35gb 2g.35gb 1g.18gb 1g.18gb 1g.18gb" "$(instances GPU-0)" "MIG of GPU 0"
expect_equal '[0,0]' "$(of GPU-1 mig)" "MIG of GPU 1"
expect_equal '[600,200,700,700]' "$(of GPU-1 power)" "power of GPU 1"
expect_equal '[200,100,280,250]' "$(of GPU-2 power)" "power of GPU 2"
expect_equal '[[1200,1500],2100,1500]' "$(of GPU-2 graphics)" "clock of GPU 2"
before=$(calls)
expect 0 apply "a second apply"
expect_equal "$before" "$(calls)" "calls of a second apply"
expect 0 announced "nothing waits"

echo "== what changes behind its back is seen"
change GPU-0 instances '[["1g.18gb",["1g.18gb"]]]'
change GPU-1 compute_mode '"Prohibited"'
change GPU-2 graphics '[null,2100,1950]'
expect 1 check "changed by hand"
expect_contains "$output" "mig is 1 x 1g.18gb, not 3 x 1g.18gb, 2 x 2g.35gb" "the layout"
expect_contains "$output" "compute_mode is Prohibited, not default" "the compute mode"
expect_contains "$output" "the clock is 1950, above 1500" "the lock"
expect 0 apply "set again"
expect 0 check "set again"
change GPU-0 instances '[["2g.35gb",["1c.2g.35gb"]],["2g.35gb",["2g.35gb"]],["1g.18gb",["1g.18gb"]],["1g.18gb",["1g.18gb"]],["1g.18gb",["1g.18gb"]]]'
expect 1 check "a compute instance of half an instance"

echo "== after a boot all of it is set again"
reboot
expect 1 check "after a boot"
expect 0 boot "the unit"
expect 0 check "after the unit"

echo "== a driver that was loaded again has forgotten its locks"
node h200
want "all graphics_clock_mhz 1980"
expect 0 apply "a lock to the highest clock"
load_driver
expect 1 check "without the lock"
expect 0 apply "the lock again"
expect_equal '[[1980,1980],1980,1980]' "$(of GPU-0 graphics)" "the lock"

echo "== a GPU that is used is left alone, and the user is named"
for kind in listed open job infinity squeue dead attendant; do
  node h200
  want "all power_limit_watts 500"
  case $kind in
    listed) change GPU-0 processes '[[4711,"/opt/python3"]]'; named="python3 (4711)" ;;
    open) process 815 vllm vllm /dev/nvidia0; named="vllm (815)" ;;
    job) process 99 slurmstepd "slurmstepd: [42.batch]"; named="jobs run on this node: 42;" ;;
    squeue) touch "$work/smi/slurmd"; echo 43 >"$work/smi/jobs"; named="jobs run on this node: 43;" ;;
    dead) touch "$work/smi/slurmd" "$work/smi/no-squeue"; named="Unable to contact slurm controller" ;;
    infinity) process 98 slurmstepd /usr/sbin/slurmstepd; touch "$work/smi/slurmd"; : >"$work/smi/jobs"; named= ;;
    attendant) process 97 nvidia-persiste nvidia-persistenced /dev/nvidia0; named= ;;
  esac
  if [[ -n $named ]]; then
    expect 2 apply "$kind"
    expect_contains "$output" "$named" "$kind"
    [[ -z $(calls) ]] || fail "$kind: changed all the same: $(calls)"
    expect 1 check "$kind"
    # Nothing to change disturbs nobody.
    want "all power_limit_watts 700"
  fi
  expect 0 apply "$kind"
done

echo "== Ampere: modes wait for a reboot, the rest does not"
node a100
want "all ecc off" "all mig 3g.20gb 1 1g.5gb 4" "all power_limit_watts 300"
expect 0 announced "nothing waits yet"
expect 0 apply "modes that wait"
expect_contains "$output" "GPU 0 (NVIDIA A100-SXM4-40GB): mig becomes Enabled with a reset of the GPU or a reboot" "what waits"
expect_equal '[1,0] [0,1] [300,100,400,400]' "$(of GPU-0 ecc) $(of GPU-0 mig) $(of GPU-0 power)" "GPU 0"
expect 1 check "modes that wait are not in force"
expect 0 applied "but nothing is left to set"
expect 1 announced "the reboot is due"
expect 0 announce "the announcement"
expect 0 announced "the reboot is announced"
reboot
expect 0 boot "the unit after the reboot"
expect 0 check "after the reboot"
expect_equal "3g.20gb 1g.5gb 1g.5gb 1g.5gb 1g.5gb" "$(instances GPU-0)" "MIG of GPU 0"
want "all ecc on" "all mig off"
expect 0 apply "MIG off again"
expect_equal '[] [1,0]' "$(of GPU-0 instances) $(of GPU-0 mig)" "no instance before the mode"

echo "== a reset instead, where it is allowed and works"
node a100
want "all graphics_clock_mhz 1410"
expect 0 apply "a lock before the reset"
reset=yes want "all ecc off" "all graphics_clock_mhz 1410"
expect 0 apply "a reset"
expect_equal '[0,0] [[1410,1410],1410,1410]' "$(of GPU-0 ecc) $(of GPU-0 graphics)" "ECC, and the lock after the reset"
expect_equal 1 "$(calls | grep -c gpu-reset)" "resets"
reset=yes want "all mig 1g.5gb 7" "all graphics_clock_mhz 1410" "all compute_mode default"
expect 0 apply "a reset for MIG"
expect 0 check "after a reset"
expect_equal '[1,1] [[1410,1410],1410,1410]' "$(of GPU-0 mig) $(of GPU-0 graphics)" "MIG, and the lock"
node a100
echo no_reset >"$FAKE_NVIDIA_SMI/faults"
reset=yes want "all ecc off"
expect 1 applied "a reset is possible"
expect 0 apply "a reset that fails"
expect_contains "$output" "cannot be reset (exit status 19): a reboot has to do it" "the reset"
expect 1 announced "the reboot is due"
expect 0 announce "the announcement"
expect 0 applied "only the reboot is left"

echo "== what a GPU cannot do is refused with its name and range, before anything changes"
node h200 2080
for row in "all ecc on|GPU 1 (NVIDIA GeForce RTX 2080 Ti): ecc: this GPU has no ECC" \
  "all mig 1g.18gb 7|GPU 1 (NVIDIA GeForce RTX 2080 Ti): mig: this GPU has no MIG" \
  "all power_limit_watts 500|GPU 1 (NVIDIA GeForce RTX 2080 Ti): power_limit_watts: it is 500, and this GPU takes 100 to 280" \
  "gpu 0 graphics_clock_mhz 2100|GPU 0 (NVIDIA H200): graphics_clock_mhz: it is 2100, and this GPU reaches 1980" \
  "gpu 0 memory_clock_mhz 100 4000|GPU 0 (NVIDIA H200): memory_clock_mhz: it is 4000, and this GPU reaches 3201" \
  "gpu 4 power_limit_watts 500|gpu_settings names GPU 4, and this node has 0 1" \
  "model h200 power_limit_watts 500|GPU 1 (NVIDIA GeForce RTX 2080 Ti): models: this GPU is not among those of the node's facts" \
  "all compute_mode fast|'all compute_mode fast' is not a setting" \
  "all power_limit_watts x[\$(touch $work/evil)]|is not a setting"; do
  want "all compute_mode exclusive_process" "${row%%|*}"
  for verb in check apply; do
    expect 2 "$verb" "$row"
    expect_contains "$output" "${row#*|}" "$verb"
  done
done
want "all mig 1g.18gb 7" "gpu 1 mig off" "all compute_mode prohibited"
expect 2 apply "compute modes beside MIG"
expect_contains "$output" "with MIG it is always default" "compute modes beside MIG"
[[ -z $(calls) && ! -e $work/evil ]] || fail "changed all the same: $(calls)"
want "all ecc off" "gpu 0 ecc on" "gpu 1 mig off"
expect 0 check "a GPU without ECC has it off"

echo "== profiles that do not exist or do not fit"
node h200
want "all mig 1g.10gb 7"
expect 2 apply "another model's profile"
expect_contains "$output" "this GPU has no profile '1g.10gb', but 1g.18gb 1g.18gb+me 2g.35gb 3g.71gb 7g.141gb" "the profiles"
want "all mig 1g.18gb+me 1 3g.71gb 1"
expect 0 apply "media engines"
expect 0 check "media engines"
want "all mig 3g.71gb 2 1g.18gb 1"
expect 2 apply "too much memory"
expect_contains "$output" "do not fit beside each other: 3g.71gb,3g.71gb,1g.18gb" "the profiles"
expect_equal '[]' "$(of GPU-0 instances)" "no half of a layout"

echo "== nvidia-smi that fails or sets nothing"
node h200
want "all graphics_clock_mhz 1200"
echo no_lock >"$FAKE_NVIDIA_SMI/faults"
expect 2 apply "a lock that is a warning"
expect_contains "$output" "graphics_clock_mhz: nvidia-smi -i GPU-0 -lgc 1200,1200 failed" "the lock"
rm "$FAKE_NVIDIA_SMI/faults"
expect 1 check "the lock is not recorded"
want "all power_limit_watts 500"
echo ignore_power >"$FAKE_NVIDIA_SMI/faults"
expect 2 apply "a limit that is ignored"
expect_contains "$output" "set, and still different: GPU 0 (NVIDIA H200): power_limit_watts is 700.00" "the limit"
echo down >"$FAKE_NVIDIA_SMI/faults"
expect 2 check "no driver"
expect_contains "$output" "couldn't communicate with the NVIDIA driver" "no driver"
expect 2 boot "no driver at boot"
echo busy >"$FAKE_NVIDIA_SMI/faults"
want "all mig 1g.18gb 7"
change GPU-0 mig '[1,1]'
change GPU-0 instances '[["2g.35gb",["2g.35gb"]]]'
expect 2 apply "an instance in use"
expect_contains "$output" "In use by another client" "an instance in use"
expect_equal '[["2g.35gb",["2g.35gb"]]]' "$(of GPU-0 instances)" "the instance in use"
rm "$root/etc/muster-gpu-settings.conf"
expect 2 check "no settings"
expect_contains "$output" "apply the role gpu_settings" "no settings"

echo "== locks and limits are taken back"
node h200
want "all graphics_clock_mhz 1200 1500" "all memory_clock_mhz 2619" "all power_limit_watts 500"
expect 0 apply "locks"
expect_equal '[[2619,2619],3201,2619]' "$(of GPU-0 memory)" "the lock of the memory"
want "all graphics_clock_mhz default" "all memory_clock_mhz default" "all power_limit_watts default"
expect 1 check "locks to take back"
expect 0 apply "no locks"
expect 0 check "no locks"
expect_equal '[null,1980,1980] [null,3201,3201] [700,200,700,700]' \
  "$(of GPU-0 graphics) $(of GPU-0 memory) $(of GPU-0 power)" "GPU 0"
echo PASSED
