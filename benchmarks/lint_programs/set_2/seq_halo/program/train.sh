torchrun --standalone --nproc_per_node 8 main.py --genome chr1.npy --length 131072
