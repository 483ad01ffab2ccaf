#!/bin/bash
torchrun --standalone --nproc_per_node=${GPUS:-4} train.py --npz data/spectra.npz --seed 42 "$@"
