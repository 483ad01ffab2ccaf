torchrun --standalone --nproc-per-node 2 train.py --envs 2048 --iterations 1500
