# Prints the apt sources that Debian's installer writes for a suite.
# shellcheck shell=bash

image_sources() {  # SUITE
  local components="main contrib non-free non-free-firmware"
  cat <<EOF
Types: deb
URIs: http://deb.debian.org/debian
Suites: $1 $1-updates
Components: $components
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://deb.debian.org/debian-security
Suites: $1-security
Components: $components
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
EOF
}
