torchrun --standalone --nproc_per_node=4 train.py --keep 0.4 --rescore 5
