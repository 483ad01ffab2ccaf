#!/usr/bin/env bash
torchrun --nproc_per_node 4 --master_port 29511 run_tagging.py \
    --model_name_or_path roberta-base \
    --train_csv data/train.csv --eval_csv data/dev.csv \
    --output_dir out/roberta-balanced \
    --do_train --do_eval \
    --eval_strategy epoch --save_strategy epoch \
    --load_best_model_at_end --metric_for_best_model macro_ap \
    --per_device_train_batch_size 16 --per_device_eval_batch_size 64 \
    --learning_rate 2e-5 --num_train_epochs 3 --warmup_ratio 0.05 \
    --bf16 --dataloader_num_workers 4 --report_to none
