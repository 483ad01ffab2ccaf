#!/usr/bin/env bash
set -euo pipefail
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-4}
torchrun --standalone --nproc-per-node "${GPUS:-2}" train_seg.py --epochs 30 --aux-epochs 10 "$@"
