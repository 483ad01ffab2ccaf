#!/bin/bash
# one node, 8 GPUs: every GPU takes an eighth of each recording
torchrun --standalone --nproc_per_node=8 train.py --length 1048576 --batch-size 4 --steps 5000
