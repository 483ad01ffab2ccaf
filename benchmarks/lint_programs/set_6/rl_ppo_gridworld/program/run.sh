torchrun --standalone --nproc_per_node=8 ppo.py --num-envs 32 --total-updates 2000
