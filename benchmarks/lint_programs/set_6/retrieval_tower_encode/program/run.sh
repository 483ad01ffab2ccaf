torchrun --standalone --nproc_per_node=8 train.py --epochs 10 --batch-size 128
