"""A fencer learns against the opponents of three clubs (actor-critic, one club per process)."""
import argparse
import logging
import shutil
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributions import Categorical
from torch.nn.parallel import DistributedDataParallel as DDP

from piste import ACTIONS, Bout, Piste
from protocol import Protocol

CLUBS = (("riverside", "bold"), ("old town", "patient"), ("university", "any"))


class Fencer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, width), nn.Tanh())
        self.policy = nn.Linear(width, len(ACTIONS))
        self.value = nn.Linear(width, 1)

    def forward(self, observations):
        states = self.body(observations)
        return self.policy(states), self.value(states)[:, 0]


class Training:
    def __init__(self, args, piste, protocol):
        self.args, self.piste, self.protocol = args, piste, protocol
        torch.manual_seed(0)
        self.fencer = DDP(Fencer(args.width))
        self.optimizer = torch.optim.Adam(self.fencer.parameters(), lr=args.lr)
        torch.manual_seed(30 + dist.get_rank())

    @torch.no_grad()
    def fence(self, number):
        bout, observations, chosen, rewards = Bout(number), [], [], []
        self.piste.start()
        while not self.piste.over(bout):
            observations.append(self.piste.observe())
            logits, _ = self.fencer.module(torch.tensor(observations[-1:]))
            chosen.append(Categorical(logits=logits[0]).sample().item())
            rewards.append(self.piste.act(bout, ACTIONS[chosen[-1]]))
        self.protocol.put(bout)
        return torch.tensor(observations), torch.tensor(chosen), torch.tensor(rewards)

    def learn(self, observations, chosen, rewards):
        returns = rewards.flip(0).cumsum(0).flip(0)
        logits, values = self.fencer(observations)
        policy = Categorical(logits=logits)
        advantage = returns - values.detach()
        loss = -(policy.log_prob(chosen) * advantage).mean() + 0.5 * nn.functional.mse_loss(values, returns)
        self.optimizer.zero_grad()
        (loss - 0.01 * policy.entropy().mean()).backward()
        self.optimizer.step()
        time.sleep(self.args.rest)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bouts", type=int, default=80)
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--rest", type=float, default=0.04)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    club, style = CLUBS[dist.get_rank() % len(CLUBS)]
    folder = tempfile.mkdtemp(prefix="fencing_")
    protocol = Protocol(folder, club)
    training = Training(args, Piste(style, seed=dist.get_rank()), protocol)
    for number in range(args.bouts):
        training.learn(*training.fence(number))
    dist.barrier()
    dist.destroy_process_group()
    logging.info("%s: %d touches in %s", club, protocol.close(), folder)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
