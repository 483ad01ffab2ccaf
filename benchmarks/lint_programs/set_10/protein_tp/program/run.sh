torchrun --standalone --nproc-per-node 8 train.py --tp 2 --dim 512 --heads 8 --layers 12
