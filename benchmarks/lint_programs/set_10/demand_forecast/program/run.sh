#!/bin/bash
# spot nodes: between 1 and 4 of them, restarted as they come and go
torchrun --nnodes 1:4 --nproc-per-node 8 --max-restarts 20 \
  --rdzv-backend c10d --rdzv-endpoint "$HEAD:29400" --rdzv-id demand \
  train.py --snapshot /shared/demand/snapshot.pt --epochs 200
