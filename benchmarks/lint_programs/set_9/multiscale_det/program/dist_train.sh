#!/usr/bin/env bash
# ./dist_train.sh config.yaml 8
CONFIG=$1
GPUS=$2
torchrun --nnodes=${NNODES:-1} --node_rank=${NODE_RANK:-0} --master_addr=${MASTER_ADDR:-127.0.0.1} \
    --master_port=${PORT:-29500} --nproc_per_node=$GPUS train.py "$CONFIG" "${@:3}"
