torchrun --nproc-per-node 4 train.py --epochs 3
