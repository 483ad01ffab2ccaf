"""Distributed DQN: each rank plays in its own arena and trains from its own replay memory."""
import copy
import time
from types import SimpleNamespace

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from arena import ACTIONS, OBS, Arena
from replay import Replay, Sampler

cfg = SimpleNamespace(steps=80, batch=16, capacity=700, warmup=4, gamma=0.97, lr=1e-3, refresh=20,
                      bodies={0: 8, 1: 16, 2: 8})   # rank 1 runs on the larger host


class Agent:
    def __init__(self, rank):
        torch.manual_seed(4)
        self.q = nn.Sequential(nn.Linear(OBS, 32), nn.ReLU(), nn.Linear(32, ACTIONS))
        self.target = copy.deepcopy(self.q)
        self.opt = torch.optim.Adam(self.q.parameters(), lr=cfg.lr)
        self.arena = Arena(cfg.bodies[rank], seed=rank)
        self.replay = Replay(cfg.capacity, seed=rank)
        self.sampler = Sampler(self.replay, cfg.batch)

    def collect(self, epsilon):
        self.replay.extend(self.arena.play(self.q, epsilon))

    def learn(self):
        obs, act, rew, nxt = self.sampler.ready.get()
        with torch.no_grad():
            goal = rew + cfg.gamma * self.target(nxt).max(1).values
        loss = F.smooth_l1_loss(self.q(obs).gather(1, act[:, None]).squeeze(1), goal)
        self.opt.zero_grad()
        loss.backward()
        for p in self.q.parameters():
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
        self.opt.step()
        return loss.item()


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    agent = Agent(dist.get_rank())
    for _ in range(cfg.warmup):
        agent.collect(epsilon=1.0)
    agent.sampler.start()
    for step in range(cfg.steps):
        agent.collect(epsilon=max(0.05, 1 - step / 40))
        loss = agent.learn()
        if step % cfg.refresh == 0:
            agent.target.load_state_dict(agent.q.state_dict())
            if dist.get_rank() == 0:
                print(f"step {step} td-loss {loss:.4f} memory {len(agent.replay)}", flush=True)
        time.sleep(0.02)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
