#!/bin/bash
torchrun --nproc_per_node ${GPUS:-8} main.py --batch-size 128 --epochs 30 --lr 1e-3 --output clip.pt
