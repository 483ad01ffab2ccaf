"""Synchronous advantage actor-critic on a course of mazes."""
import time

import torch
import torch.distributed as dist
from torch import nn

from mazes import COURSES, Maze
from stats import Window

WINDOW, ITERATIONS, GAMMA = 16, 120, 0.95


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(4, 24), nn.Tanh())
        self.pi, self.v = nn.Linear(24, 2), nn.Linear(24, 1)

    def forward(self, obs):
        h = self.trunk(obs)
        return torch.distributions.Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


def play(net, maze, window):
    obs, acts, rews = [], [], []
    for _ in range(WINDOW):
        o = maze.observe()
        with torch.no_grad():
            a = net(o)[0].sample()
        r, finished = maze.step(a.item())
        if finished is not None:
            window.add(episode_return=finished[0], episode_length=finished[1])
        obs.append(o), acts.append(a), rews.append(r)
    return torch.stack(obs), torch.stack(acts), rews


def update(net, opt, obs, acts, rews, window):
    togo, acc = [], 0.0
    for r in reversed(rews):
        acc = r + GAMMA * acc
        togo.insert(0, acc)
    togo = torch.tensor(togo)
    policy, value = net(obs)
    advantage = togo - value
    loss = -(policy.log_prob(acts) * advantage.detach()).mean() + 0.5 * advantage.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    window.add(entropy=policy.entropy().mean(), value_error=advantage.detach().abs().mean())


def agree(net):
    """Federated round: the mean of the ranks' parameters, handed out by rank 0."""
    flat = nn.utils.parameters_to_vector(net.parameters()).detach().clone()
    dist.reduce(flat, dst=0)
    flat /= dist.get_world_size()
    dist.broadcast(flat, src=0)
    nn.utils.vector_to_parameters(flat, net.parameters())


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(rank)
    net = ActorCritic()
    agree(net)
    opt = torch.optim.RMSprop(net.parameters(), lr=2e-3)
    maze, window = Maze(**COURSES[rank]), Window()
    for iteration in range(ITERATIONS):
        update(net, opt, *play(net, maze, window), window)
        summary = window.reduce()
        agree(net)
        time.sleep(0.01)
        if rank == 0 and iteration % 10 == 0:
            print(iteration, {k: round(v, 3) for k, v in summary.items()}, flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
