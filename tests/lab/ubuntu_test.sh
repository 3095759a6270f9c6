#!/bin/bash
# Labs of Debian on Ubuntu 24.04, one after the other: another Slurm, another Python, needrestart and sockets for sshd.
# Without Ubuntu's keyring it is skipped.
set -euo pipefail
folder=$(dirname "$0")
[[ -e /usr/share/keyrings/ubuntu-archive-keyring.gpg ]] || { echo "no keyring of Ubuntu's"; exit 77; }
for test in rollout accounting services containers storage node_health; do
  echo "== Ubuntu 24.04: $test"
  SUITE=noble "$folder/${test}_test.sh"
done
