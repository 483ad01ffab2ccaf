accelerate launch --multi_gpu --num_processes 4 train.py --num_epochs 10 --mixed_precision bf16
