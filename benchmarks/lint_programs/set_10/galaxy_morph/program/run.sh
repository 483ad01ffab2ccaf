torchrun --standalone --nproc-per-node 8 train.py --config configs/tiny.json
