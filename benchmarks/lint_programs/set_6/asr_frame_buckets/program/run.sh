#!/bin/bash
#SBATCH --job-name=ctc
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export MASTER_PORT=29511
srun python train.py --epochs 30 --max-frames 4000
