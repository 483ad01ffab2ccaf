#!/usr/bin/env bash
set -euo pipefail
accelerate launch --num_processes 4 --mixed_precision bf16 train.py \
  --train_file data/train.jsonl --valid_file data/valid.jsonl \
  --model_name microsoft/deberta-v3-small \
  --per_device_batch_size 32 --epochs 5 --output_dir runs/deberta
