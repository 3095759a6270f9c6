#!/bin/bash
# Turns a fresh root of Debian or Ubuntu into the lab's base image. Run by mmdebstrap with
# the root's path. Whatever differs between nodes is written later, by node.sh.
set -euo pipefail
root=$1

# A node's identity is its own.
rm -f "$root"/etc/ssh/ssh_host_*
: >"$root/etc/machine-id"
rm -f "$root/var/lib/dbus/machine-id" "$root/etc/hostname" "$root/etc/resolv.conf"
: >"$root/etc/resolv.conf"

# sshd takes root by key: that is how a provisioned server is reached.
chroot "$root" passwd --lock root >/dev/null
sed -i 's/^#\?PermitRootLogin .*/PermitRootLogin prohibit-password/' "$root/etc/ssh/sshd_config"

chroot "$root" systemctl enable --quiet systemd-networkd
# Ubuntu 24.04 has systemd listen for sshd.
[[ -e $root/etc/systemd/system/sockets.target.wants/ssh.socket ]] || chroot "$root" systemctl enable --quiet ssh

# A prepared image has packages whose daemons are enabled by their roles.
for unit in chrony munge slurmctld slurmd; do
  [[ ! -e $root/lib/systemd/system/$unit.service ]] || chroot "$root" systemctl disable --quiet "$unit"
done

# One file of sources, named as Debian names it; Ubuntu has one from 24.04 on.
if compgen -G "$root/etc/apt/sources.list.d/*.sources" >/dev/null; then
  mv "$root"/etc/apt/sources.list.d/*.sources "$root/etc/apt/sources.list.d/debian.sources"
  rm -f "$root/etc/apt/sources.list"
elif ! grep -q jammy "$root/etc/apt/sources.list"; then
  awk '$1 == "deb" {
    gsub(/\[[^]]*\] /, "")
    printf "Types: deb\nURIs: %s\nSuites: %s\nComponents:", $2, $3
    for (i = 4; i <= NF; ++i) printf " %s", $i
    print "\nSigned-By: /usr/share/keyrings/ubuntu-archive-keyring.gpg\n"
  }' "$root/etc/apt/sources.list" >"$root/etc/apt/sources.list.d/ubuntu.sources"
  rm "$root/etc/apt/sources.list"
fi

# Off, because they would slow down every boot or cannot work in a container:
# the clock and the hardware belong to the host.
for unit in apt-daily.timer apt-daily-upgrade.timer man-db.timer dpkg-db-backup.timer \
            e2scrub_all.timer e2scrub_reap.service fstrim.timer systemd-timesyncd.service \
            systemd-networkd-wait-online.service networking.service \
            console-getty.service getty@tty1.service systemd-udev-trigger.service \
            keyboard-setup.service console-setup.service; do
  ln -sfn /dev/null "$root/etc/systemd/system/$unit"
done

# A machine may set kernel parameters; a container finds most of /proc/sys
# read-only. Each node gets its own writable stand-ins, so that writing and
# reading back work and the host never changes.
install -D -m 755 "$(dirname "$0")/private-sysctls" "$root/usr/local/lib/lab/private-sysctls"
cat >"$root/etc/systemd/system/lab-private-sysctls.service" <<'EOF'
[Unit]
Description=Kernel parameters of this node alone
DefaultDependencies=no
Before=systemd-sysctl.service sysinit.target

[Service]
Type=oneshot
ExecStart=/usr/local/lib/lab/private-sysctls

[Install]
WantedBy=sysinit.target
EOF
chroot "$root" systemctl enable --quiet lab-private-sysctls
