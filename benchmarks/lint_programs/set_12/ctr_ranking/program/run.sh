torchrun --nproc-per-node 2 train.py --epochs 3
