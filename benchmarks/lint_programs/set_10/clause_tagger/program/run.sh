torchrun --nproc-per-node 4 train.py args.json
