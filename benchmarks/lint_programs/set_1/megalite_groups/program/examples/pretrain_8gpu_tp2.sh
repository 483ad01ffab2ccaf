#!/bin/bash
export CUDA_DEVICE_MAX_CONNECTIONS=1

GPUS_PER_NODE=8
DATA_PATH=$1
CHECKPOINT_PATH=$2

DISTRIBUTED_ARGS="--nproc_per_node $GPUS_PER_NODE --nnodes 1 --node_rank 0 --master_addr localhost --master_port 6000"

torchrun $DISTRIBUTED_ARGS pretrain_gpt.py \
       --tensor-model-parallel-size 2 \
       --num-layers 24 \
       --hidden-size 1024 \
       --num-attention-heads 16 \
       --micro-batch-size 8 \
       --seq-length 1024 \
       --train-iters 50000 \
       --data-path $DATA_PATH \
       --save $CHECKPOINT_PATH
