import argparse
import os

import torch
import torch.distributed as dist
from torch.distributions import Normal
from torch.nn.parallel import DistributedDataParallel as DDP

from env import PointReacher
from ppo import PPO, ActorCritic


@torch.no_grad()
def collect(env, policy, steps, gamma=0.98, lam=0.95):
    keep = {k: [] for k in ("obs", "act", "logp", "mean", "std", "val", "rew", "done")}
    obs = env.obs()
    for _ in range(steps):
        mean, std, val = policy(obs)
        pi = Normal(mean, std)
        act = pi.sample()
        nxt, rew, done = env.step(act)
        row = (obs, act, pi.log_prob(act).sum(-1), mean, std, val, rew, done)
        for store, item in zip(keep.values(), row):
            store.append(item)
        obs = nxt
    k = {name: torch.stack(v) for name, v in keep.items()}
    nxt_val, gae, adv = policy(obs)[2], 0.0, torch.zeros_like(k["rew"])
    for t in reversed(range(steps)):
        live = 1.0 - k["done"][t]
        delta = k["rew"][t] + gamma * nxt_val * live - k["val"][t]
        gae = delta + gamma * lam * live * gae
        adv[t], nxt_val = gae, k["val"][t]
    ret = adv + k["val"]
    fields = (k["obs"], k["act"], k["logp"], k["mean"], k["std"], adv, ret)
    return tuple(f.flatten(0, 1) for f in fields), k["rew"].mean()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--iterations", type=int, default=6)
    ap.add_argument("--envs", type=int, default=32, help="per rank")
    ap.add_argument("--steps", type=int, default=20)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--desired-kl", type=float, default=0.01)
    ap.add_argument("--update-epochs", type=int, default=4)
    ap.add_argument("--minibatches", type=int, default=4)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--out", default="policy.pt")
    cfg = ap.parse_args()

    local_rank = int(os.environ["LOCAL_RANK"])
    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")

    torch.manual_seed(cfg.seed)
    net = ActorCritic(PointReacher.obs_dim, PointReacher.act_dim).to(device)
    algo = PPO(DDP(net, device_ids=[local_rank] if cuda else None), cfg.lr, cfg)
    torch.manual_seed(cfg.seed + 1000 * (rank + 1))  # own exploration on each rank
    env = PointReacher(cfg.envs, device, seed=cfg.seed + rank)

    for it in range(cfg.iterations):
        roll, reward = collect(env, net, cfg.steps)
        stats = torch.stack([reward, torch.tensor(algo.update(roll), device=device)])
        dist.all_reduce(stats)
        stats /= world
        if rank == 0:
            print(f"it {it} reward {stats[0]:.3f} loss {stats[1]:.3f} lr {algo.lr:.1e}", flush=True)

    if rank == 0:
        torch.save(net.state_dict(), cfg.out)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
