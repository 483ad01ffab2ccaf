#!/usr/bin/env bash
set -e
torchrun --standalone --nproc_per_node=${GPUS:-8} train.py --epochs 5 --valid-rows 4000 "$@"
