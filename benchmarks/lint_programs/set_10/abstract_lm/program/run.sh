deepspeed --num_gpus 4 train.py --init-from weights/base.pt --epochs 2
