import argparse
import random

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from envs import VecCartPole
from ppo import ActorCritic, rollout, update


def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--envs", type=int, default=16, help="environments of each process")
    p.add_argument("--horizon", type=int, default=128)
    p.add_argument("--updates", type=int, default=300)
    p.add_argument("--lr", type=float, default=3e-4)
    args = p.parse_args()

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()

    seed = args.seed
    seed_everything(seed)
    env = VecCartPole(args.envs, seed)
    net = ActorCritic()
    model = DDP(net)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr, eps=1e-5)

    obs = env.reset()
    for it in range(args.updates):
        batch, obs, finished = rollout(net, env, obs, args.horizon)
        update(model, opt, batch)

        stats = torch.tensor([float(sum(finished)), float(len(finished))])
        dist.all_reduce(stats)
        if rank == 0:
            frames = (it + 1) * args.envs * args.horizon * world
            print(f"update {it} frames {frames} episodes {int(stats[1])} "
                  f"mean length {(stats[0] / stats[1].clamp(min=1)).item():.1f}", flush=True)

    if rank == 0:
        torch.save(net.state_dict(), "ppo.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
