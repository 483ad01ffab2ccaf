torchrun --standalone --nproc_per_node=4 main.py --data /data/cifar_pt --epochs 90
