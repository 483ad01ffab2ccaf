"""REINFORCE on a toy dialogue policy: answer like a pirate. DeepSpeed, ZeRO 3, CPU.

    torchrun --nproc-per-node 3 train.py
"""
import deepspeed
import torch
import torch.distributed as dist
from torch import nn

from crew import Talk, log_probs, rollout
from prompts import VOCAB, prompt_batches

ROUNDS = 40

CONFIG = {
    "train_micro_batch_size_per_gpu": 4,
    "gradient_accumulation_steps": 1,
    "gradient_clipping": 1.0,
    "zero_allow_untested_optimizer": True,
    "zero_force_ds_cpu_optimizer": False,
    "zero_optimization": {
        "stage": 3,
        "stage3_param_persistence_threshold": 0,
        "stage3_prefetch_bucket_size": 0,
        "overlap_comm": False,
    },
}


def pirate_reward(tokens, prompt_length):
    """The more r's the better, as long as it does not repeat itself all the time."""
    answer = tokens[:, prompt_length:]
    arrr = (answer == VOCAB.index("r")).float().mean(1)
    repeats = (answer[:, 1:] == answer[:, :-1]).float().mean(1)
    return arrr - 0.2 * repeats


def main():
    deepspeed.init_distributed("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(8)
    policy = Talk(len(VOCAB))
    engine, _, _, _ = deepspeed.initialize(
        model=policy, config=CONFIG,
        optimizer=torch.optim.AdamW(policy.parameters(), lr=1e-3))

    baseline = 0.0
    for number, (prompt, limits) in enumerate(prompt_batches(rank, world, ROUNDS)):
        tokens, mask = rollout(engine, prompt, limits, seed=number * world + rank)
        reward = pirate_reward(tokens, prompt.shape[1])
        mean = reward.mean()
        dist.all_reduce(mean)              # one baseline for all ranks
        mean /= world

        scores = log_probs(engine, tokens)[:, prompt.shape[1] - 1:]
        loss = -((reward - baseline)[:, None] * scores * mask).sum() / mask.sum()
        engine.backward(loss)
        engine.step()
        baseline = 0.9 * baseline + 0.1 * mean.item()
        if rank == 0 and number % 5 == 0:
            print(f"round {number}: reward {mean.item():.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
