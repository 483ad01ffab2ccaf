torchrun --nnodes 2 --nproc-per-node 8 --rdzv-backend c10d --rdzv-endpoint $HEAD:29500 train.py --workers 4 --events 5000000 --steps 20000
