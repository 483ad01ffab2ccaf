#!/bin/bash
set -e
torchrun --nproc_per_node=4 train_landmarks.py /data/300w --save out/landmarks.pt --batch 12
