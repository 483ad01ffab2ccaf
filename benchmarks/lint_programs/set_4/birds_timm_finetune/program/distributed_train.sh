#!/bin/bash
# on each of the nodes: NODE_RANK=0 MASTER_ADDR=... ./distributed_train.sh /data/birds --model resnet50
torchrun --nnodes "${NNODES:-2}" --node-rank "${NODE_RANK:-0}" --nproc-per-node "${GPUS:-8}" \
    --master-addr "${MASTER_ADDR:-127.0.0.1}" --master-port 29511 train.py "$@"
