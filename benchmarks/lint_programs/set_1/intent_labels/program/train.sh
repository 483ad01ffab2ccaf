#!/usr/bin/env bash
set -eu
corpus=${1:-data/banking}
torchrun --nproc_per_node=4 --master_port=29511 train_intent.py \
  --train "$corpus/train.jsonl" --dev "$corpus/dev.jsonl" --export "$corpus/exported"
