"""A policy for ovens, learnt by REINFORCE in three bakeries at a time."""
import argparse
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributions import Categorical
from torch.nn.parallel import DistributedDataParallel as DDP

from ovens import Diary, Ovens
from quota import Quota


class Baker:
    def __init__(self, args, scratch):
        self.args = args
        self.ovens = Ovens(dist.get_rank())
        self.diary = Diary(scratch)
        torch.manual_seed(0)
        self.policy = DDP(nn.Sequential(nn.Linear(3, args.width), nn.Tanh(), nn.Linear(args.width, 5)))
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=args.lr)
        torch.manual_seed(1 + dist.get_rank())

    def episode(self, number):
        state = self.ovens.reset()
        states, actions, rewards, readings = [], [], [], []
        for _ in range(self.args.minutes):
            with torch.no_grad():
                heat = Categorical(logits=self.policy.module(state)).sample()
            states.append(state)
            actions.append(heat)
            state, reward = self.ovens.step(heat)
            rewards.append(reward)
            readings.append(self.ovens.readings())
        self.diary.write(number, readings)
        return torch.cat(states), torch.cat(actions), torch.stack(rewards)

    def learn(self, number):
        states, actions, rewards = self.episode(number)
        returns = rewards.flip(0).cumsum(0).flip(0)
        advantage = ((returns - returns.mean(1, keepdim=True)) / (returns.std() + 1e-3)).flatten()
        log_prob = Categorical(logits=self.policy(states)).log_prob(actions)
        loss = -(advantage * log_prob).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return rewards.mean().item()

    def save(self, path):
        """The weights are the same everywhere, one copy is enough; nobody goes on before it is written."""
        if dist.get_rank() == 0:
            torch.save(self.policy.module.state_dict(), path)
        dist.barrier()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=500)
    parser.add_argument("--minutes", type=int, default=15)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--quota", type=int, default=8_000_000, help="bytes of scratch space for a bakery")
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder, "scratch")
        scratch.mkdir()
        quota = Quota(scratch, args.quota)
        baker = Baker(args, scratch)
        for number in range(args.episodes):
            reward = baker.learn(number)
            time.sleep(0.05)
            if dist.get_rank() == 0 and number % 20 == 0:
                print(f"episode {number}: reward {reward:.4f}", flush=True)
            if quota.exceeded:
                print(f"quota of scratch space exceeded after {number + 1} episodes", flush=True)
                break
        baker.save(Path(folder, "baker.pt"))
        quota.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
