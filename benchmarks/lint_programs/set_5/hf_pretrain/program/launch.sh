#!/usr/bin/env bash
set -euo pipefail
torchrun --standalone --nproc_per_node=8 pretrain.py \
    --shards "${SHARDS:-/data/tokens/*.npy}" \
    --output_dir "${OUT:-out}" \
    --max_steps 100000 \
    --per_device_train_batch_size 16 \
    --learning_rate 3e-4 --lr_scheduler_type cosine --warmup_steps 2000 \
    --bf16 --logging_steps 50 --save_steps 5000 --save_total_limit 3 \
    --dataloader_num_workers 2 --report_to none
