#!/usr/bin/env bash
# one node, all GPUs; ROOT must be on the shared file system
set -eu
torchrun --standalone --nproc_per_node="${NPROC:-8}" forecast.py --root "${ROOT:-runs}" "$@"
