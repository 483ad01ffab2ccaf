#!/bin/bash
set -e
accelerate launch --multi_gpu --num_processes 4 run_sum.py \
    --model_name google-t5/t5-base --train_bs 16 --eval_bs 32 --output_dir out/xsum
