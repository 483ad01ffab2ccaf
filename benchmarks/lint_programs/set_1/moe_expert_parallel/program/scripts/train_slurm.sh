#!/bin/bash
#SBATCH -J midi-moe
#SBATCH -N 2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH -t 24:00:00

nodes=($(scontrol show hostnames $SLURM_JOB_NODELIST))
srun torchrun --nnodes=$SLURM_NNODES --nproc_per_node=8 \
  --rdzv_backend=c10d --rdzv_endpoint=${nodes[0]}:29511 --rdzv_id=$SLURM_JOB_ID \
  train.py --corpus $WORK/midi/train.npy --held-out $WORK/midi/valid.npy \
  --experts-per-rank 4 --batch 8 --ckpt-dir $WORK/midi/ckpt
