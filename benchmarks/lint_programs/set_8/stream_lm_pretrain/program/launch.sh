#!/usr/bin/env bash
set -e
NPROC=${NPROC:-2}
exec torchrun --standalone --nproc_per_node "$NPROC" train.py --workers 2 --epochs 3 "$@"
