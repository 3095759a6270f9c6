# Puts the controller on login1 from the packages of the last build, and brings
# the administrator's credentials here. The one place that spells `muster init`.
# shellcheck shell=bash

controller_packages() {
  local package
  for package in muster-controller muster-cli; do
    compgen -G "$LAB_CHECKOUT/build/release/packages/${package}_*.deb" | sort -V | tail -n 1
  done
}

controller_install() {  # GATE: on or off, see slurm_gate in controller.yaml
  local gate=$1 start=$EPOCHREALTIME packages names boots='"off"'
  mapfile -t packages < <(controller_packages)
  if ((${#packages[@]} < 2)); then
    say "no muster-controller and muster-cli in build/release/packages: nodes only"
    return 0
  fi
  node_put login1 /var/tmp/muster-packages "${packages[@]}"
  names=("${packages[@]##*/}")
  if [[ $(lab_machines) ]]; then boots=$(lab_address login1):7483; fi
  if ! {
    node_exec login1 env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y -o Dpkg::Use-Pty=0 \
      "${names[@]/#//var/tmp/muster-packages/}" &&
    node_exec login1 muster init --cluster "$LAB_NAME" --controller login1:7443 --directory /etc/muster &&
    node_exec login1 sed -i -e "s/^slurm_gate: .*/slurm_gate: \"$gate\"/" \
      -e "s/^web_listen: .*/web_listen: 0.0.0.0:7482/" -e "s/^boot_listen: .*/boot_listen: $boots/" \
      /etc/muster/controller.yaml &&
    node_exec login1 systemctl enable --quiet --now musterd
  } >"$LAB_DIR/controller.log" 2>&1; then
    tail -n 15 "$LAB_DIR/controller.log" >&2
    die "installing the controller failed; see $LAB_DIR/controller.log"
  fi
  rm -rf "$LAB_DIR/admin"
  mkdir -m 700 "$LAB_DIR/admin"
  node_exec login1 tar -c -C /etc/muster/admin . | tar -x --no-same-owner -C "$LAB_DIR/admin"
  say "controller on login1:7443 in $(seconds_since "$start") s"
}
