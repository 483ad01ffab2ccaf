torchrun --nproc_per_node=8 pretrain.py --tp 2 --batch-size 32
