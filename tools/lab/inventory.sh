# The inventory that describes this lab; the one place that knows its format.
# shellcheck shell=bash

inventory_write() {
  local node role file=$LAB_DIR/inventory/cluster.yaml
  mkdir -p "${file%/*}"
  {
    echo "cluster: $LAB_NAME"
    echo "nodes:"
    for node in $(lab_nodes); do
      if [[ $node == login* ]]; then role=login; else role=compute; fi
      echo "  $node: {role: $role, address: $(lab_address "$node")}"
    done
    echo "vars: {apt_proxy: \"$(lab_proxy_url)\"}"
  } >"$file"
  echo "$file"
}
