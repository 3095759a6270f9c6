# Where a lab keeps its things. Sourced; sets variables only.
# shellcheck shell=bash disable=SC2034

# State needs a filesystem that can hold an overlay's upper folder, which a
# checkout inside a container often is not, so it lies outside of the tree.
LAB_STATE_ROOT=${MUSTER_LAB_STATE:-/var/lib/muster-lab}
LAB_CACHE_ROOT=${MUSTER_LAB_CACHE:-/var/cache/muster-lab}

LAB_LOCK=$LAB_STATE_ROOT/.lock      # guards subnet numbers and the package cache
LAB_APT_CACHE=$LAB_CACHE_ROOT/apt   # packages, kept between labs
LAB_PROXY_STATE=$LAB_STATE_ROOT/.proxy

# Drawn for a lab called N:
#   $LAB_STATE_ROOT/N/
#     checkout              the source tree that owns this lab
#     subnet                the third byte of 10.77.x.0/24
#     suite                 bookworm, trixie, jammy or noble
#     switches              1 or 2
#     weight                its share of the processors beside other labs
#     uplink                of two switches: the state of the link between them
#     hosts                 every name in the lab, as /etc/hosts
#     ssh/                  config, private key, known host keys
#     admin/                credentials of the cluster's administrator
#     inventory/cluster.yaml
#     forwarder.pid         carries the nodes' apt traffic to the package cache
#     machines/d001/        disk, console, hardware, firmware-variables, chip/, *.pid
#     bmcs/c001/            address, orders, state/, *.pid
#     nodes/c001/           upper/ work/ merged/, console.log, *.pid, address, switch, link
lab_paths() {  # NAME
  [[ $1 =~ ^[a-z][a-z0-9]{0,9}$ ]] || die "lab name '$1': one lower-case letter, then up to 9 letters or digits"
  LAB_NAME=$1
  LAB_DIR=$LAB_STATE_ROOT/$1
  LAB_NETNS=muster-$1
  LAB_UPLINK=ml-$1                  # the host's end of the veth into the lab
}
