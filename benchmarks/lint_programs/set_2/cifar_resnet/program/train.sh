#!/bin/bash
export OMP_NUM_THREADS=4
torchrun --standalone --nproc_per_node=4 main.py --data /scratch/$USER/cifar --epochs 120 --batch-size 128 --lr 0.2
