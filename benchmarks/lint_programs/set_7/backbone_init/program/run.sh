#!/bin/bash
set -e
[ -f backbone.pt ] || python backbone.py --out backbone.pt
torchrun --standalone --nproc_per_node=4 finetune.py --backbone backbone.pt
