# The lab's own ssh: one key for root on every node, host keys known beforehand,
# and a config file that touches neither ~/.ssh nor an agent.
# shellcheck shell=bash

ssh_prepare() {
  local dir=$LAB_DIR/ssh
  mkdir -m 700 "$dir"
  ssh-keygen -q -t ed25519 -N '' -C "root@lab-$LAB_NAME" -f "$dir/id_ed25519"
  : >"$dir/known_hosts"
  cat >"$dir/config" <<EOF
Host *
  User root
  IdentityFile $dir/id_ed25519
  IdentitiesOnly yes
  IdentityAgent none
  UserKnownHostsFile $dir/known_hosts
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  BatchMode yes
  ConnectTimeout 5
EOF
  local node
  for node in "$@"; do
    printf '\nHost %s\n  HostName %s\n' "$node" "$(lab_address "$node")" >>"$dir/config"
  done
}

ssh_install_keys() {  # NODE UPPER
  local node=$1 ssh=$2/etc/ssh type
  mkdir -m 700 "$2/root/.ssh"
  chmod 700 "$2/root"
  install -m 600 "$LAB_DIR/ssh/id_ed25519.pub" "$2/root/.ssh/authorized_keys"
  for type in ed25519 ecdsa; do
    ssh-keygen -q -t "$type" -N '' -C "root@$node" -f "$ssh/ssh_host_${type}_key"
    echo "$node,$(lab_address "$node") $(cut -d' ' -f1,2 "$ssh/ssh_host_${type}_key.pub")" \
      >>"$LAB_DIR/ssh/known_hosts"
  done
}

ssh_answers() {  # NODE
  timeout 6 ssh -F "$LAB_DIR/ssh/config" "$1" true </dev/null 2>/dev/null
}
