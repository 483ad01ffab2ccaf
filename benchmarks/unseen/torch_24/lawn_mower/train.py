"""REINFORCE for a mowing robot; each process has a garden, gradients are averaged by hand."""
import argparse
import shutil
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn

from garden import TREES, Garden
from journal import Journal


class Robot(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, width), nn.Tanh(), nn.Linear(width, 4))

    def choose(self, view):
        choice = torch.distributions.Categorical(logits=self.net(view))
        action = choice.sample()
        return action.item(), choice.log_prob(action), choice.entropy()


def mow(robot, garden, journal, steps, number):
    view = garden.reset()
    log_probs, rewards, entropy, bumps = [], [], 0.0, 0
    for step in range(steps):
        action, log_prob, spread = robot.choose(view)
        view, reward, bumped = garden.move(action)
        if bumped:
            bumps += 1
            if bumps % 4 == 0:
                journal.add(kind="bumps", run=number, step=step, place=garden.place)
        log_probs.append(log_prob)
        rewards.append(reward)
        entropy = entropy + spread
    journal.add(kind="run", run=number, reward=sum(rewards), bumps=bumps)
    to_go = torch.tensor(rewards).flip(0).cumsum(0).flip(0)
    advantage = to_go - torch.linspace(to_go[0].item(), 0.0, steps)
    loss = -(advantage * torch.stack(log_probs)).mean() - 0.02 * entropy / steps
    return loss, sum(rewards)


def average_gradients(robot):
    grads = [p.grad for p in robot.parameters()]
    flat = torch.cat([g.flatten() for g in grads])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for grad, part in zip(grads, flat.split([g.numel() for g in grads])):
        grad.copy_(part.view_as(grad))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=240)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--per-file", type=int, default=1200)
    parser.add_argument("--pause", type=float, default=0.01)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    robot = Robot()
    optimizer = torch.optim.Adam(robot.parameters(), lr=args.lr)
    torch.manual_seed(200 + rank)
    folder = tempfile.mkdtemp(prefix="lawn_mower_")
    journal = Journal(folder, args.per_file)
    garden = Garden(TREES[rank], seed=rank)
    for number in range(args.runs):
        loss, reward = mow(robot, garden, journal, args.steps, number)
        optimizer.zero_grad()
        loss.backward()
        average_gradients(robot)
        optimizer.step()
        time.sleep(args.pause)
        if number % 40 == 0 and rank == 0:
            print(f"run {number}: reward {reward:.1f}", flush=True)
    journal.close()
    print(f"garden {rank}: {journal.count} events in {journal.part} files", flush=True)
    dist.destroy_process_group()
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
