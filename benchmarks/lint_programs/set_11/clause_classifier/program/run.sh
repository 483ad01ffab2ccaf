#!/bin/bash
#SBATCH --nodes=1 --gpus=8 --time=04:00:00 --requeue
mkdir -p runs/clauses
torchrun --standalone --nproc-per-node 8 train.py \
    --output_dir runs/clauses --num_train_epochs 40 --per_device_train_batch_size 32 \
    --learning_rate 3e-4 --warmup_steps 500 --eval_strategy steps --eval_steps 500 \
    --save_strategy steps --save_steps 500 --save_total_limit 2 --logging_steps 50 \
    --bf16 --report_to none --queue_minutes 240
