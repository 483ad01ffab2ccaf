python train.py --devices 4 --accumulate 8
