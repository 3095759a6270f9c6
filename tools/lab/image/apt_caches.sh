#!/bin/bash
# Leaves apt's own caches in a finished root: otherwise each node of each lab parses 50 MB of package
# lists, two seconds of a processor, before its first package. Run with the root's path.
set -euo pipefail
chroot "$1" apt-cache gencaches
