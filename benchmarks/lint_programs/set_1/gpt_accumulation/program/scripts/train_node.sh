#!/bin/bash
# usage: train_node.sh CONFIG OUT_DIR [key=value ...]
CONFIG=$1; OUT=$2; shift 2
export OMP_NUM_THREADS=4
exec torchrun --standalone --nproc_per_node="${NGPU:-8}" -m tinylm.train "$CONFIG" out_dir="$OUT" "$@"
