#!/usr/bin/env bash
set -euo pipefail
DATA=$1
OUT=$2
shift 2

OMP_NUM_THREADS=8 torchrun --standalone --nproc_per_node=8 main_pretrain.py \
    --data_path "$DATA" \
    --output_dir "$OUT" \
    --batch_size 128 \
    --mask_ratio 0.75 \
    --epochs 400 --warmup_epochs 20 \
    --blr 1.5e-4 --weight_decay 0.05 "$@"
