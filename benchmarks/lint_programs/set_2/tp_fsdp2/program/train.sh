torchrun --nnodes 1 --nproc_per_node 8 train.py --tokens data/c4.u32 --tp 2 --bs 4
