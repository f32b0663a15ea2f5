#!/usr/bin/env bash
# Draws the pictures of the pages from the figures beside this script.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
python3 ../../examples/python/bars.py applications_h100.csv 'A BERT-shaped model in PyTorch, unchanged, under the shim' \
  'One NVIDIA H100, 4 blocks of 768, one pass in a CUDA graph. 36 problems tuned for 70 s, 30 of them taken over.' >applications_h100.svg
