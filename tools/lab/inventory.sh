# The inventory that describes this lab; the one place that knows its format.
# shellcheck shell=bash

inventory_write() {
  local node role switch file=$LAB_DIR/inventory/cluster.yaml
  mkdir -p "${file%/*}"
  {
    echo "cluster: $LAB_NAME"
    echo "nodes:"
    for node in $(lab_nodes); do
      if [[ $node == login* ]]; then role=login; else role=compute; fi
      echo "  $node: {role: $role, address: $(lab_address "$node")}"
    done
    if (($(network_switches) > 1)); then
      echo "racks:"
      for switch in $(network_bridges); do
        echo "  rack-$switch: {switch: $switch, nodes: \"$(network_nodes_of "$switch" | paste -sd,)\"}"
      done
    fi
    # The nodes reach no time server outside.
    echo "groups: {login: {vars: {ntp_serve: true}}}"
    echo "vars: {apt_proxy: \"$(lab_proxy_url)\", ntp_servers: [login1]}"
  } >"$file"
  echo "$file"
}
