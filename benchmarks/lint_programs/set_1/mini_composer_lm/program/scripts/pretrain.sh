#!/bin/bash
torchrun --standalone --nproc_per_node 8 pretrain.py \
  --shards /data/tok/shards --eval-tokens /data/tok/heldout.npy \
  --budget 10e9 --device-batch 16 --seq 1024 --workers 4 --save runs/lm-124m
