#!/usr/bin/env bash
set -e
export TOKENIZERS_PARALLELISM=false
torchrun --nproc_per_node 8 sft.py \
    --model_name_or_path meta-llama/Llama-2-13b-chat-hf \
    --train_path data/train.jsonl --dev_path data/dev.jsonl \
    --preview_path data/preview_questions.txt \
    --output_dir /ckpt/support-13b \
    --deepspeed configs/ds.json \
    --bf16 --gradient_checkpointing \
    --per_device_train_batch_size 2 --gradient_accumulation_steps 4 \
    --learning_rate 1e-5 --lr_scheduler_type cosine --warmup_steps 50 \
    --num_train_epochs 2 --logging_steps 10 \
    --eval_strategy steps --eval_steps 200 --save_steps 200 --save_total_limit 2
