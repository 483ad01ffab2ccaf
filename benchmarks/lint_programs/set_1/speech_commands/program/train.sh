#!/bin/bash
#SBATCH --job-name=kws --nodes=2 --ntasks-per-node=1 --gres=gpu:4 --cpus-per-task=32
# two nodes with four GPUs each; /shared is NFS
head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun torchrun --nnodes=2 --nproc_per_node=4 \
    --rdzv_backend=c10d --rdzv_endpoint="$head:29500" --rdzv_id="$SLURM_JOB_ID" \
    train.py /shared/speech_commands_v0.02 --exp /shared/exp/kws
