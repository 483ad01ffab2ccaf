#!/usr/bin/env bash
# 4 actors/learners on one box
torchrun --standalone --nproc-per-node "${NPROC:-4}" ppo.py --iters 200 "$@"
