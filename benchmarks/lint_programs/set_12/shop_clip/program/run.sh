# on each of the nodes
torchrun --nnodes "$NNODES" --nproc-per-node 8 --rdzv-backend c10d --rdzv-endpoint "$HEAD:29500" train.py "$@"
