python train.py --devices 4 --epochs 30
