import argparse
import os
import random
from dataclasses import dataclass, fields

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from agent import Agent, gae
from envs import VecEnv


@dataclass
class Config:
    total_updates: int = 200
    num_envs: int = 16
    rollout: int = 64
    minibatches: int = 4
    epochs: int = 4
    lr: float = 5e-4
    gamma: float = 0.98
    lam: float = 0.95
    clip: float = 0.2
    ent_coef: float = 0.01
    vf_coef: float = 0.5
    seed: int = 1
    save_path: str = "ppo.pt"


def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


class PPO:
    def __init__(self, cfg, rank, device):
        self.cfg, self.rank, self.device = cfg, rank, device
        self.seed = cfg.seed
        seed_everything(self.seed)
        self.envs = VecEnv(cfg.num_envs, seed=self.seed)
        self.obs = torch.as_tensor(self.envs.reset(), device=device)
        self.agent = DDP(Agent().to(device), device_ids=[device.index] if device.type == "cuda" else None)
        self.opt = torch.optim.Adam(self.agent.parameters(), lr=cfg.lr, eps=1e-5)

    @torch.no_grad()
    def collect(self):
        policy = self.agent.module
        buf = {k: [] for k in ("obs", "act", "logp", "val", "rew", "done")}
        episodes = []
        for _ in range(self.cfg.rollout):
            act, logp, _, val = policy(self.obs)
            nxt, rew, done, finished = self.envs.step(act.cpu().numpy())
            episodes += finished
            row = (self.obs, act, logp, val, torch.as_tensor(rew), torch.as_tensor(done))
            for k, v in zip(buf, row):
                buf[k].append(v.to(self.device))
            self.obs = torch.as_tensor(nxt, device=self.device)
        data = {k: torch.stack(v) for k, v in buf.items()}
        last_value = policy(self.obs)[3]
        data["adv"] = gae(data["rew"], data["val"], data["done"], last_value, self.cfg.gamma, self.cfg.lam)
        data["ret"] = data["adv"] + data["val"]
        return {k: v.flatten(0, 1) for k, v in data.items()}, episodes

    def update(self, data):
        c = self.cfg
        n = len(data["act"])
        for _ in range(c.epochs):
            for idx in torch.randperm(n, device=self.device).chunk(c.minibatches):
                _, logp, ent, val = self.agent(data["obs"][idx], data["act"][idx])
                ratio = (logp - data["logp"][idx]).exp()
                adv = data["adv"][idx]
                adv = (adv - adv.mean()) / (adv.std() + 1e-8)
                pg = -torch.min(ratio * adv, ratio.clamp(1 - c.clip, 1 + c.clip) * adv).mean()
                vf = 0.5 * (val - data["ret"][idx]).pow(2).mean()
                loss = pg + c.vf_coef * vf - c.ent_coef * ent.mean()
                self.opt.zero_grad(set_to_none=True)
                loss.backward()
                nn.utils.clip_grad_norm_(self.agent.parameters(), 0.5)
                self.opt.step()

    def run(self):
        steps = 0
        for it in range(self.cfg.total_updates):
            data, episodes = self.collect()
            self.update(data)
            stat = torch.tensor([sum(episodes), len(episodes), len(data["act"])], dtype=torch.float64, device=self.device)
            dist.all_reduce(stat)
            steps += int(stat[2])
            if self.rank == 0:
                mean = (stat[0] / stat[1].clamp(min=1)).item()
                print(f"update {it} | env steps {steps} | return {mean:.3f}", flush=True)
        if self.rank == 0:
            torch.save(self.agent.module.state_dict(), self.cfg.save_path)


def main():
    ap = argparse.ArgumentParser()
    for f in fields(Config):
        ap.add_argument("--" + f.name.replace("_", "-"), type=type(f.default), default=f.default)
    cfg = Config(**vars(ap.parse_args()))
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    PPO(cfg, dist.get_rank(), device).run()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
