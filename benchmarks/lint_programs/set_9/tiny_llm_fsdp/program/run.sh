#!/bin/bash
# 8 GPUs on one node
torchrun --standalone --nproc_per_node=${NPROC:-8} pretrain.py --config config.yaml "$@"
