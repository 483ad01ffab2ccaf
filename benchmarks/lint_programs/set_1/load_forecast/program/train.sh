#!/bin/sh
exec torchrun --standalone --nproc_per_node=4 train.py --data data/load.npy --ckpt out/forecast.pt --patience 6 "$@"
