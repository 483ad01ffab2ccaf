#!/usr/bin/env bash
. ./path.sh 2>/dev/null || true
export CUDA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES:-0,1,2,3}
stage=1
conf=conf/blstm_ctc.yaml
dir=exp/blstm_ctc
[ "$1" = "--stage" ] && stage=$2

num_gpus=$(echo $CUDA_VISIBLE_DEVICES | awk -F "," '{print NF}')

if [ $stage -le 0 ]; then
  local/prepare_manifest.sh data/raw data/train.tsv data/dev.tsv
fi

if [ $stage -le 1 ]; then
  mkdir -p $dir
  torchrun --nnodes=1 --nproc_per_node=$num_gpus --rdzv_backend=c10d --rdzv_endpoint=localhost:0 \
    train.py --config $conf --train_data data/train.tsv --cv_data data/dev.tsv --model_dir $dir
fi
