# The inventory that describes this lab; the one place that knows its format.
# shellcheck shell=bash

inventory_write() {
  local node role switch groups vars file=$LAB_DIR/inventory/cluster.yaml
  mkdir -p "${file%/*}"
  {
    echo "cluster: $LAB_NAME"
    echo "nodes:"
    for node in $(lab_nodes); do
      if [[ $node == login* ]]; then role=login; else role=compute; fi
      echo "  $node: {role: $role, address: $(lab_address "$node")$(_inventory_bmc "$node")}"
    done
    for node in $(lab_machines); do
      echo "  $node: {role: compute, address: $(lab_address "$node"), mac: \"$(machine_get "$node" mac -)\"$(_inventory_bmc "$node")}"
    done
    if (($(network_switches) > 1)); then
      echo "racks:"
      for switch in $(network_bridges); do
        echo "  rack-$switch: {switch: $switch, nodes: \"$(network_nodes_of "$switch" | paste -sd,)\"}"
      done
    fi
    # The nodes reach no time server outside.
    groups="login: {vars: {ntp_serve: true}}"
    vars="apt_proxy: \"$(lab_proxy_url)\", ntp_servers: [login1]"
    if [[ $(lab_bmcs) ]]; then
      groups+=", compute: {vars: {bmc_protocol: ipmi, bmc_user: $BMC_USER, bmc_password_secret: bmc_password, bmc_cipher_suite: 3, bmc_console: true}}"
    fi
    if [[ $(lab_machines) ]]; then
      vars+=", boot_server_host: login1, boot_server_interface: host0, boot_server_dhcp_range: \"$(lab_dhcp_range)\""
    fi
    echo "groups: {$groups}"
    echo "vars: {$vars}"
  } >"$file"
  echo "$file"
}

_inventory_bmc() { [[ ! -d $LAB_DIR/bmcs/$1 ]] || printf ', bmc_address: %s' "$(lab_bmc_address "$1")"; }  # NODE
