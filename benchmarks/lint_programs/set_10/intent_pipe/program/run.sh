torchrun --standalone --nproc-per-node 4 train.py --blocks 16 --dim 512
