#!/usr/bin/env bash
set -e
nproc=${1:-2}
torchrun --nproc_per_node "$nproc" train.py --config conf/base.json
