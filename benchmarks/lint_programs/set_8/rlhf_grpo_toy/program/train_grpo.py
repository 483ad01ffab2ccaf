import argparse
import copy
import os
import random

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from policy import BOS, VOCAB, CharPolicy, reward, token_logprobs


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--iterations", type=int, default=25)
    p.add_argument("--prompts_per_rank", type=int, default=4)
    p.add_argument("--group_size", type=int, default=8)
    p.add_argument("--prompt_len", type=int, default=4)
    p.add_argument("--max_new", type=int, default=12)
    p.add_argument("--update_epochs", type=int, default=4)
    p.add_argument("--minibatch", type=int, default=16)
    p.add_argument("--lr", type=float, default=4e-3)
    p.add_argument("--clip_eps", type=float, default=0.2)
    p.add_argument("--kl_coef", type=float, default=0.02)
    p.add_argument("--target_kl", type=float, default=0.012)
    p.add_argument("--seed", type=int, default=3)
    p.add_argument("--save_path", default="policy.pt")
    return p.parse_args()


class Dist:
    def __init__(self):
        dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.device = torch.device("cpu")
        if torch.cuda.is_available():
            self.device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
            torch.cuda.set_device(self.device)

    def gather(self, t):
        parts = [torch.empty_like(t) for _ in range(self.world)]
        dist.all_gather(parts, t.contiguous())
        return torch.cat(parts)


@torch.no_grad()
def rollout(args, policy, reference, device):
    prompts = torch.randint(0, 26, (args.prompts_per_rank, args.prompt_len - 1), device=device)
    prompts = torch.cat([torch.full_like(prompts[:, :1], BOS), prompts], 1)
    ids = policy.generate(prompts.repeat_interleave(args.group_size, 0), args.max_new)
    old_logp, mask = token_logprobs(policy, ids, args.prompt_len)
    ref_logp, _ = token_logprobs(reference, ids, args.prompt_len)
    rewards = reward(ids, args.prompt_len).to(device)
    grouped = rewards.view(-1, args.group_size)
    adv = (grouped - grouped.mean(1, keepdim=True)) / (grouped.std(1, keepdim=True) + 1e-4)
    return {"ids": ids, "old_logp": old_logp, "ref_logp": ref_logp, "mask": mask,
            "adv": adv.flatten(), "rewards": rewards}


def minibatch_loss(args, model, roll, rows):
    logp, mask = token_logprobs(model, roll["ids"][rows], args.prompt_len)
    old, ref, adv = roll["old_logp"][rows], roll["ref_logp"][rows], roll["adv"][rows, None]
    log_ratio = logp - old
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - args.clip_eps, 1 + args.clip_eps)
    gain = torch.minimum(ratio * adv, clipped * adv)
    to_ref = (ref - logp).exp() - (ref - logp) - 1
    per_token = (-gain + args.kl_coef * to_ref) * mask
    loss = (per_token.sum(1) / mask.sum(1).clamp(min=1)).mean()
    with torch.no_grad():
        approx_kl = (((ratio - 1) - log_ratio) * mask).sum() / mask.sum()
    return loss, approx_kl


def update(args, model, optimizer, roll):
    n = len(roll["ids"])
    kls, passes = [], 0
    for _ in range(args.update_epochs):
        kl_sum = torch.zeros((), device=roll["ids"].device)
        order = torch.randperm(n)
        for lo in range(0, n, args.minibatch):
            loss, approx_kl = minibatch_loss(args, model, roll, order[lo:lo + args.minibatch])
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            kl_sum += approx_kl
        passes += 1
        epoch_kl = kl_sum / (n / args.minibatch)
        kls.append(epoch_kl)
        if epoch_kl > args.target_kl:
            break
    return torch.stack(kls).mean(), passes


def main():
    args = parse_args()
    ctx = Dist()
    random.seed(args.seed + ctx.rank)
    np.random.seed(args.seed + ctx.rank)
    torch.manual_seed(args.seed)

    policy = CharPolicy().to(ctx.device)
    reference = copy.deepcopy(policy).eval().requires_grad_(False)
    model = DDP(policy, device_ids=[ctx.device.index] if ctx.device.type == "cuda" else None)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    torch.manual_seed(args.seed + 1 + ctx.rank)

    for it in range(args.iterations):
        roll = rollout(args, policy, reference, ctx.device)
        kl, passes = update(args, model, optimizer, roll)
        rewards = ctx.gather(roll["rewards"])
        stats = ctx.gather(torch.stack([kl, roll["mask"].sum(1).float().mean()])[None]).mean(0)
        if ctx.rank == 0:
            print(f"iter {it:3d} reward {rewards.mean():.3f} +- {rewards.std():.3f} "
                  f"kl {stats[0]:.4f} len {stats[1]:.1f} passes {passes}", flush=True)

    if ctx.rank == 0:
        torch.save({"policy": policy.state_dict(), "vocab": VOCAB}, args.save_path)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
