torchrun --nproc-per-node 4 train_net.py --config-file configs/base.toml
