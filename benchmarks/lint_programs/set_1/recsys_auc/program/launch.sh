#!/bin/sh
NODE_RANK=$1
MASTER=$2
shift 2
export NCCL_SOCKET_IFNAME=bond0
python -m torch.distributed.run --nnodes 2 --node_rank "$NODE_RANK" --nproc_per_node 8 \
    --master_addr "$MASTER" --master_port 23456 -m rank_ads.main "$@"
