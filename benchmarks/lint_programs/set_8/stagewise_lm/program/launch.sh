#!/bin/sh
# one process per stage
torchrun --standalone --nproc_per_node "${STAGES:-2}" main.py --layers 4 --batch-size 32 --micro-batches 8
