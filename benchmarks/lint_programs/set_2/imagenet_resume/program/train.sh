#!/bin/bash
# the queue kills jobs after 12h; submit again with RESUME=1
ARGS="/data/imagenet --ckpt /shared/ckpt/convnext.pth --epochs 300"
[ -n "$RESUME" ] && ARGS="$ARGS --resume"
torchrun --standalone --nproc_per_node=8 main.py $ARGS
