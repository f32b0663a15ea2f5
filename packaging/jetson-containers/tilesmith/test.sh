#!/usr/bin/env bash
# Run by jetson-containers in the finished container, on the Jetson: one problem is tuned for half a minute, verified on the device as always.
set -euo pipefail
db=$(mktemp -d)/tuned.db
tilesmith version
tilesmith tune --type f16f32 --trans NT --shape 1024 --budget 30s --db "$db"
tilesmith explain f16f32 NT 1024 1024 1024 --db "$db"
