#!/bin/bash
# run on each node: NODE_RANK=0|1 MASTER_ADDR=... scripts/run_2nodes.sh
set -euo pipefail

torchrun \
    --nnodes 2 --nproc_per_node 8 --node_rank "$NODE_RANK" \
    --rdzv_id t5sum --rdzv_backend c10d --rdzv_endpoint "$MASTER_ADDR:29400" \
    t5_summarize.py \
    --model_name google/t5-v1_1-xl \
    --train_file data/cnn_dm/train.jsonl --valid_file data/cnn_dm/valid.jsonl \
    --batch_size 4 --epochs 2 --lr 1e-4 --clip 1.0 --output_dir /mnt/ckpt/t5sum
