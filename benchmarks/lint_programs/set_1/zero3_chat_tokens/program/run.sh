#!/usr/bin/env bash
# usage: ./run.sh [extra arguments of sft.py]
set -eu
export HF_HUB_ENABLE_HF_TRANSFER=1
deepspeed --num_nodes 1 --num_gpus 8 sft.py \
    --model meta-llama/Meta-Llama-3-8B \
    --data data/dialogs.jsonl \
    --ds_config zero3.json \
    --output_dir out/llama3-chat "$@"
