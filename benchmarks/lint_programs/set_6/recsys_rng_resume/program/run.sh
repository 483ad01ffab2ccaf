#!/bin/bash
# preemptible queue: torchrun starts the workers again after an eviction, training goes on from bpr.ckpt
exec torchrun --standalone --nproc_per_node=8 --max_restarts=20 train.py --epochs 100 --ckpt /checkpoints/bpr.ckpt
