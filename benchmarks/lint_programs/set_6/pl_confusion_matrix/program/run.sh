srun --nodes=2 --ntasks-per-node=4 --gpus-per-node=4 python train.py --devices 4 --num-nodes 2
