#!/bin/sh
torchrun --standalone --nproc_per_node=4 train_ddpm.py --batch-size 16 --accumulate 4 "$@"
