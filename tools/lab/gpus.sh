# Stand-ins for NVIDIA's driver and cards on nodes of a lab: what a node has before Muster comes.
# shellcheck shell=bash

# The driver's libraries, COUNT whole cards, and what stands for their device files, also after a
# reboot: Slurm looks whether they are there, and whether they are devices.
gpus_install() {  # NODE COUNT
  local node=$1 count=$2 built=$LAB_CHECKOUT/build/release/fakes/nvidia libraries index
  libraries=("$built/libcuda.so.1" "$built/libnvidia-ml.so.1")
  for library in "${libraries[@]}"; do
    [[ -f $library ]] || die "no $library; run ./dev build"
  done
  node_put "$node" /usr/lib/x86_64-linux-gnu "${libraries[@]}"
  gpus_describe "$node" "$count" | node_exec "$node" sh -c 'cat >/etc/muster-fake-nvidia.json'
  for ((index = 0; index < count; ++index)); do
    echo "L /dev/nvidia$index - - - - /dev/null"
  done | node_exec "$node" sh -c '
    cat >/etc/tmpfiles.d/lab-gpus.conf
    systemd-tmpfiles --create lab-gpus.conf
    ldconfig'
  gpus_list_in_proc "$node" "$count"
}

# A folder of each card in /proc/driver/nvidia/gpus, as the kernel's driver makes them, also after a
# reboot.
gpus_list_in_proc() {  # NODE COUNT
  # shellcheck disable=SC2016
  node_exec "$1" sh -c '
    for index in $(seq 0 $(($1 - 1))); do mkdir -p "/var/lib/lab-driver/nvidia/gpus/0000:3$index:00.0"; done
    cat >/etc/systemd/system/lab-driver.service <<UNIT
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=mount --bind /var/lib/lab-driver /proc/driver
[Install]
WantedBy=multi-user.target
UNIT
    systemctl enable --quiet --now lab-driver.service' sh "$2"
}

# Cards of a model that clusters of this kind have, with little memory behind them: a host carries
# those of all nodes.
gpus_describe() {  # NODE COUNT
  local index cards=()
  for ((index = 0; index < $2; ++index)); do
    cards+=("{\"preset\": \"rtx_2080_ti\", \"uuid\": \"GPU-$1-$index\", \"serial\": \"$1$index\",
             \"backing_bytes\": 33554432}")
  done
  (IFS=,; echo "{\"driver_version\": \"535.261.03\", \"gpus\": [${cards[*]}]}")
}
