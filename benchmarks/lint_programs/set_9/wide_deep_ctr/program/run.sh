#!/usr/bin/env bash
# usage: ./run.sh N_PROC [train.py args]
N=${1:-2}; shift || true
exec torchrun --standalone --nproc_per_node="$N" train.py "$@"
