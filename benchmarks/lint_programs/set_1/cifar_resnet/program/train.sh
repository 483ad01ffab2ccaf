#!/usr/bin/env bash
# CIFAR-10 has to be unpacked under $DATA first (torchvision layout).
set -euo pipefail
DATA=${DATA:-./data}
torchrun --standalone --nproc_per_node=4 train.py \
    --data "$DATA" --out runs/resnet18 --epochs 60 --batch-size 128 --lr 0.2 "$@"
