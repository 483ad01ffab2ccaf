torchrun --nproc-per-node ${GPUS:-2} train.py --config configs/tide.toml
