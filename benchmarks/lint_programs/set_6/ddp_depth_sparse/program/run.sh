torchrun --standalone --nproc_per_node=8 train.py --batch-size 2 --samples 20000
