#!/usr/bin/env bash
# restarts pick up the newest snapshot by themselves
torchrun --standalone --nproc_per_node=4 --max-restarts=3 train.py /data/faces64 \
    --snapshot-dir /data/runs/faces64/snapshots --batch-size 64
