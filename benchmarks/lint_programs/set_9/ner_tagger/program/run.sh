#!/usr/bin/env bash
set -euo pipefail
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-4}
torchrun --standalone --nproc_per_node="${GPUS:-4}" train_ner.py --train data/train.jsonl --dev data/dev.jsonl --accum 8 "$@"
