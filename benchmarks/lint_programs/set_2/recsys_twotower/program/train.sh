#!/usr/bin/env bash
torchrun --nproc_per_node=4 --master_port=29777 fit.py \
  --train ml25/train.npz --valid ml25/valid.npz --users 162541 --items 59047 \
  --batch 16384 --patience 3
