"""IMPALA-style training: rank 0 learns, the other ranks act.

    torchrun --nproc-per-node 3 train.py --updates 400
"""
import argparse
import logging
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from plateau import Plateau
from rollout import N_ACT, N_OBS, Corridor, unroll

log = logging.getLogger("impala")


def build_policy():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(N_OBS, 32), nn.Tanh(), nn.Linear(32, N_ACT))


class Peer:
    def __init__(self, args):
        self.args = args
        self.policy = build_policy()
        self.shape = (args.horizon, args.envs, N_OBS + 2)

    def sync_weights(self):
        flat = parameters_to_vector(self.policy.parameters()).detach().clone()
        dist.broadcast(flat, src=0)
        vector_to_parameters(flat, self.policy.parameters())

    def close(self):
        dist.barrier()


class Actor(Peer):
    def run(self):
        env = Corridor(self.args.envs, seed=100 + dist.get_rank())
        for _ in range(self.args.updates):
            self.sync_weights()
            dist.gather(unroll(self.policy, env, self.args.horizon), dst=0)


class Learner(Peer):
    def run(self):
        opt = torch.optim.Adam(self.policy.parameters(), lr=3e-3)
        plateau = Plateau(self.args.patience, self.args.delta)
        idle = torch.zeros(self.shape)
        for update in range(self.args.updates):
            self.sync_weights()
            slots = [torch.zeros(self.shape) for _ in range(dist.get_world_size())]
            dist.gather(idle, slots, dst=0)
            batch = torch.cat(slots[1:], dim=1)
            mean_return = batch[..., -1].sum(0).mean().item()
            self.improve(opt, batch)
            if plateau.reached(mean_return):
                log.info("return has levelled off at %.2f after %d updates", plateau.best, update + 1)
                break
        torch.save(self.policy.state_dict(), self.args.out)

    def improve(self, opt, batch):
        obs, act, rew = batch[..., :N_OBS], batch[..., N_OBS].long(), batch[..., -1]
        togo = rew.flip(0).cumsum(0).flip(0)
        logp = self.policy(obs).log_softmax(-1).gather(-1, act[..., None]).squeeze(-1)
        loss = -((togo - togo.mean()) * logp).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.01)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--updates", type=int, default=400)
    ap.add_argument("--horizon", type=int, default=12)
    ap.add_argument("--envs", type=int, default=4)
    ap.add_argument("--patience", type=int, default=18)
    ap.add_argument("--delta", type=float, default=1.0)
    ap.add_argument("--out", default="/tmp/impala_policy.pt")
    args = ap.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    peer = Learner(args) if dist.get_rank() == 0 else Actor(args)
    peer.run()
    peer.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
