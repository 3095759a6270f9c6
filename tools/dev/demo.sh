# shellcheck shell=bash

# A cluster from nothing: four machines, enrolled, rolled out, tested, running a job on GPUs.
# Always from nothing, also when the lab is up: that is what it has to show.
verb_demo() {  # [--suite bookworm|trixie]
  local lab="$DEV_CHECKOUT/tools/lab/lab" site=build/demo-site node started recap
  ((EUID == 0)) || die "the demo needs root"
  verb_deps
  verb_build release lab_programs
  trap _demo_failed EXIT

  say "four bare Debian machines"
  "$lab" up --login 1 --compute 3 --gpus 2 "$@"
  # As behind a switch: how fast this host copies between its nodes would say nothing of them.
  for node in c001 c002 c003; do "$lab" link "$node" rate=1gbit; done

  _step muster inventory apply "${MUSTER_LAB_STATE:-/var/lib/muster-lab}/lab/inventory"
  _step muster node bootstrap --ssh 'login1,c[001-003]'
  # Without GPUs in this machine, the nodes have stand-ins below the driver's interface, which it
  # plays at a thousandth of their speed: the suite takes seconds where it takes minutes.
  rm -rf "$site"
  _step site "$site"
  started=$EPOCHREALTIME
  _step muster apply "$site/playbooks/site.yaml" --yes
  say "rollout and validation: $(awk -v a="$started" -v b="$EPOCHREALTIME" 'BEGIN {printf "%.1f", b - a}') s"

  # Slurm hears of nodes that passed a moment after the validation, and asks them whether they live.
  for _ in {1..30}; do
    [[ $("$lab" exec login1 sinfo -h -o %T) != idle ]] || break
    sleep 1
  done
  _step exec login1 sinfo
  _step exec login1 srun -N3 hostname
  # shellcheck disable=SC2016
  _step exec login1 srun -N3 --gres=gpu:2 sh -c 'echo "$(hostname): GPUs $CUDA_VISIBLE_DEVICES"'

  say "once more: nothing may change, and nothing is left to validate"
  recap=$(_step muster apply "$site/playbooks/site.yaml" --yes | tee >(cat >&2))
  if [[ $recap != *changed=0* || $recap =~ changed=[1-9] ]]; then
    die "the second apply changed something"
  fi
  [[ $recap == *"nothing to validate"* ]] || die "the second apply validated nodes that had passed"

  trap - EXIT
  cat <<EOF

The cluster is up. Next:
  ./dev lab muster status         ask the controller (muster --help for more)
  ./dev lab muster node list      the machines and what they are made of
  ./dev lab muster web login      a link into the web page
  ./dev lab exec login1           a shell on the login node
  ./dev lab help                  cut a link, reboot a node
  ./dev lab down                  take it down
EOF
}

# Shows a lab command as a reader would type it, and runs it.
_step() {  # VERB ARGS…
  local verb=$1
  shift
  printf '\n$ ./dev lab %s %s\n' "$verb" "${*@Q}" >&2
  "$DEV_CHECKOUT/tools/lab/lab" "$verb" "$@" </dev/null
}

_demo_failed() {
  local rc=$? state=${MUSTER_LAB_STATE:-/var/lib/muster-lab} logs=$DEV_CHECKOUT/build/demo-logs
  if [[ -d $state/lab ]]; then
    rm -rf "$logs"
    mkdir -p "$logs"
    "$DEV_CHECKOUT/tools/lab/lab" logs "$logs" || true
    "$DEV_CHECKOUT/tools/lab/lab" down || true
    say "the demo failed ($rc); it was taken down, its logs are in $logs"
  else
    say "the demo failed ($rc)"
  fi
  exit "$rc"
}
