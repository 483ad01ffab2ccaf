#!/bin/bash
set -e
accelerate launch --multi_gpu --num_processes 4 main.py --csv data/table.csv --epochs 20
