torchrun --standalone --nproc-per-node 8 train.py --utterances 20000 --max-frames 12000
