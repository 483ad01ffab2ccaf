torchrun --nproc-per-node 8 train.py --accum 4 --micro-batch 8
