#!/usr/bin/env bash
set -e
export TOKENIZERS_PARALLELISM=false
N=${NPROC:-8}
python -m torch.distributed.run --standalone --nproc_per_node "$N" train.py "$@"
