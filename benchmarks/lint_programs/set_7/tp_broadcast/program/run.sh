#!/usr/bin/env bash
set -e
# first on two GPUs (one tensor-parallel group), then the full node: 4 x 2
torchrun --standalone --nproc_per_node=2 train.py --tp 2 --epochs 1
torchrun --standalone --nproc_per_node=8 train.py --tp 2 --epochs 50
