"""A pinball player by REINFORCE: every process has a table, the gradients are averaged over all of them."""
import argparse
import shutil
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributions import Categorical

from scores import ScoreSheet
from table import Table

# how many balls have to be locked before multiball starts, by the operator's setting of each table
MULTIBALL = (50, 9, 60)


class Player(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 * Table.lanes, width), nn.Tanh(), nn.Linear(width, Table.shots))

    def forward(self, features):
        return Categorical(logits=self.net(features))


class Arcade:
    def __init__(self, args, sheet):
        self.args = args
        self.sheet = sheet
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.table = Table(seed=self.rank, locks_for_multiball=MULTIBALL[self.rank % len(MULTIBALL)])
        torch.manual_seed(0)
        self.player = Player(args.width)
        self.optimizer = torch.optim.Adam(self.player.parameters(), lr=args.lr)
        torch.manual_seed(20 + self.rank)

    def game(self):
        self.table.reset()
        log_probs, rewards, over = [], [], False
        while not over and len(rewards) < self.args.max_shots:
            policy = self.player(torch.tensor(self.table.features()))
            shot = policy.sample()
            reward, over = self.table.shoot(shot.item())
            log_probs.append(policy.log_prob(shot))
            rewards.append(reward)
        return torch.stack(log_probs), torch.tensor(rewards)

    def average_gradients(self):
        for parameter in self.player.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= self.world

    def update(self, number):
        log_probs, rewards = self.game()
        self.sheet.add(number, self.table.events)
        returns = rewards.flip(0).cumsum(0).flip(0)
        loss = -(log_probs * (returns - returns.mean())).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.average_gradients()
        self.optimizer.step()
        time.sleep(0.04)
        return rewards.sum().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--updates", type=int, default=600)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--max-shots", type=int, default=30)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    folder = tempfile.mkdtemp(prefix="pinball_")
    sheet = ScoreSheet(folder, f"table{dist.get_rank()}", block=150)
    arcade = Arcade(args, sheet)
    for number in range(args.updates):
        score = arcade.update(number)
        if number % 25 == 0 and arcade.rank == 0:
            print(f"update {number}: reward {score:.1f}", flush=True)
    print(f"{sheet.close()} events", flush=True)
    shutil.rmtree(folder)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
