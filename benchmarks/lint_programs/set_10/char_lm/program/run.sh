torchrun --standalone --nproc-per-node ${NGPU:-8} train.py --accum 4
