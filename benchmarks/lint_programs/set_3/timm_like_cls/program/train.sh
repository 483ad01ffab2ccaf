#!/bin/bash
NUM_PROC=${1:-8}
shift
torchrun --nproc-per-node=$NUM_PROC train.py --model convmix --epochs 90 --grad-accum-steps 4 "$@"
