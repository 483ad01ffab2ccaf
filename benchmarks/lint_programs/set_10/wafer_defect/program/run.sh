torchrun --nproc-per-node 8 train.py configs/wafer.json
