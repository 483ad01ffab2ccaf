#!/bin/bash
torchrun --nproc_per_node 8 train.py \
    --model_name_or_path gpt2 --train_glob "data/train-*.jsonl" --eval_glob "data/eval-*.jsonl" \
    --block_size 1024 --preprocessing_workers 16 \
    --output_dir out/gpt2-web --bf16 True --per_device_train_batch_size 8 \
    --gradient_accumulation_steps 4 --learning_rate 2e-4 --warmup_ratio 0.03 \
    --max_steps 20000 --eval_strategy steps --eval_steps 1000 --save_steps 1000 --save_total_limit 3 \
    --logging_steps 50 --seed 13
