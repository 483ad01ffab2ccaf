import copy
import time

import torch
import torch.distributed as dist
from replay import Replay
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

STATE, ACTION, UPDATES = 17, 6, 450


def critic(seed):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(STATE + ACTION, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))


@torch.no_grad()
def follow(target, source, rate=0.005):
    for old, new in zip(target.parameters(), source.module.parameters()):
        old.lerp_(new, rate)


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    replay = Replay(dist.get_rank(), 512, STATE, ACTION)
    first, second = DDP(critic(1)), DDP(critic(2))
    slow_first, slow_second = copy.deepcopy(first.module), copy.deepcopy(second.module)
    adam_first = torch.optim.Adam(first.parameters(), lr=3e-4)
    adam_second = torch.optim.Adam(second.parameters(), lr=3e-4)
    for update in range(UPDATES):
        state, action, reward = replay.draw()
        rows = torch.cat([state, action], 1)
        with torch.no_grad():
            goal = reward + 0.9 * torch.minimum(slow_first(rows), slow_second(rows))

        error = nn.functional.mse_loss(first(rows), goal)
        adam_first.zero_grad()
        error.backward()
        adam_first.step()
        follow(slow_first, first)

        # the second critic learns from rewarded transitions only
        useful = reward.squeeze(1) != 0
        if useful.any():
            time.sleep(0.015)
            gap = nn.functional.mse_loss(second(rows[useful]), goal[useful])
            adam_second.zero_grad()
            gap.backward()
            adam_second.step()
            follow(slow_second, second)

        if dist.get_rank() == 0 and update % 50 == 0:
            print(f"{update}: {error.item():.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
