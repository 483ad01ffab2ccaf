#!/bin/sh
# night 1 and night 2: the second call goes on from the first one's checkpoint
torchrun --nproc-per-node 2 train.py --epochs 2 "$@"
torchrun --nproc-per-node 2 train.py --epochs 6 "$@"
