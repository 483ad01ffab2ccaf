import argparse
import json
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from transformers import AutoModelForCausalLM, AutoTokenizer

from rollout import RolloutWorker, token_logps

TEMPLATE = "Solve the problem. Put the final number in <answer></answer>.\n\n{}\n"


def grpo_loss(policy, ro, clip):
    logp = token_logps(policy, ro.ids, ro.attn)
    ratio = (logp - ro.old_logp).exp()
    a = ro.adv[:, None]
    obj = torch.min(ratio * a, ratio.clamp(1 - clip, 1 + clip) * a)
    per_seq = (obj * ro.comp_mask).sum(1) / ro.comp_mask.sum(1).clamp(min=1)
    return -per_seq.mean()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--model", default="Qwen/Qwen2.5-0.5B-Instruct")
    ap.add_argument("--data", default="gsm8k_train.jsonl")
    ap.add_argument("--prompts", type=int, default=2)
    ap.add_argument("--group", type=int, default=8)
    ap.add_argument("--inner", type=int, default=2)
    ap.add_argument("--clip", type=float, default=0.2)
    ap.add_argument("--lr", type=float, default=1e-6)
    ap.add_argument("--out", default="grpo_out")
    args = ap.parse_args()

    dist.init_process_group("nccl")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    torch.manual_seed(100 + rank)

    tok = AutoTokenizer.from_pretrained(args.model)
    policy = DDP(AutoModelForCausalLM.from_pretrained(args.model).to(device), device_ids=[device.index])
    opt = torch.optim.AdamW(policy.parameters(), lr=args.lr, weight_decay=0.0)
    worker = RolloutWorker(policy.module, tok, args.group, 256, device)

    with open(args.data) as f:
        rows = [json.loads(line) for line in f]
    sampler = DistributedSampler(rows, shuffle=True, drop_last=True)
    loader = DataLoader(rows, args.prompts, sampler=sampler, drop_last=True)

    for it, batch in enumerate(loader):
        prompts = [TEMPLATE.format(q) for q in batch["question"]]
        rollout, reward = worker.collect(prompts, batch["final"])
        dist.all_reduce(reward)
        if rank == 0:
            print(f"it {it} reward {reward.item() / world:.3f}", flush=True)
        if rollout is None:
            continue
        for _ in range(args.inner):
            loss = grpo_loss(policy, rollout, args.clip)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            opt.step()

    if rank == 0:
        policy.module.save_pretrained(args.out)
        tok.save_pretrained(args.out)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
