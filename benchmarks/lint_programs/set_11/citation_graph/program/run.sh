torchrun --standalone --nproc-per-node 8 train.py config.toml
