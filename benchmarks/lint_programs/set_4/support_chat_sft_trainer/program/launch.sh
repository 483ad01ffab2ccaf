#!/usr/bin/env bash
deepspeed --num_gpus 8 sft.py \
    --model_name_or_path "${MODEL:-Qwen/Qwen2.5-0.5B}" \
    --train_file data/support_chats.jsonl \
    --output_dir out/support-sft \
    --per_device_train_batch_size 4 --gradient_accumulation_steps 4 \
    --num_train_epochs 3 --learning_rate 1e-5 --warmup_ratio 0.03 --lr_scheduler_type cosine \
    --bf16 --gradient_checkpointing --logging_steps 10 --save_strategy no --report_to none \
    --deepspeed ds_config.json
