set -e
torchrun --standalone --nproc_per_node=8 pretrain.py --data /datasets/in100/train --name in100 --batch 64 --epochs 200
