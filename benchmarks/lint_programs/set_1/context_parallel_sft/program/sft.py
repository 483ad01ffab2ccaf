import json
import math
import os

import fire
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from context import Context
from llm import LLM


class QA(torch.utils.data.Dataset):
    def __init__(self, path, max_len):
        with open(path) as f:
            rows = [json.loads(line) for line in f]
        # a prompt that leaves no room for its answer is of no use
        self.rows = [r for r in rows if len(r["prompt"]) + len(r["response"]) <= max_len]
        self.max_len = max_len

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        p, r = self.rows[i]["prompt"], self.rows[i]["response"]
        ids = torch.zeros(self.max_len, dtype=torch.long)
        target = torch.full((self.max_len,), -100)
        n = len(p) + len(r)
        ids[:n] = torch.tensor(p + r)
        target[len(p) - 1 : n - 1] = torch.tensor(r)
        return ids, target


def summed_loss(logits, target):
    loss = F.cross_entropy(logits.float().flatten(0, 1), target.flatten(), ignore_index=-100, reduction="sum")
    return loss, (target != -100).sum()


def train_step(model, par, ids, target, opt, max_norm):
    ids, target = par.cut(ids.cuda()), par.cut(target.cuda())
    with torch.autocast("cuda", dtype=torch.bfloat16):
        logits = model(ids)
    loss_sum, tokens = summed_loss(logits, target)
    loss = loss_sum / tokens.clamp(min=1)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    opt.step()
    opt.zero_grad(set_to_none=True)
    return torch.stack((loss_sum.detach(), tokens.float()))


def main(init, data, cp=2, max_len=16384, batch=1, epochs=1, lr=1e-5, max_norm=1.0, out="sft.pt", log_every=10):
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    if dist.get_world_size() % cp or max_len % cp:
        raise SystemExit("world size and max_len must be multiples of cp")
    par = Context(cp)
    rank = dist.get_rank()

    model = LLM(par)
    model.load_state_dict(torch.load(init, map_location="cpu", mmap=True))
    model = DistributedDataParallel(model.cuda(), device_ids=[torch.cuda.current_device()])
    opt = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.0)

    dataset = QA(data, max_len)
    sampler = DistributedSampler(dataset, num_replicas=par.dp, rank=par.dp_rank, seed=17, drop_last=True)
    loader = DataLoader(dataset, batch_size=batch, sampler=sampler, num_workers=2, pin_memory=True, drop_last=True)
    total, done = epochs * len(loader), 0

    window = torch.zeros(2, device="cuda")
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for ids, target in loader:
            for g in opt.param_groups:
                g["lr"] = lr * 0.5 * (1 + math.cos(math.pi * done / total))
            window += train_step(model, par, ids, target, opt, max_norm)
            done += 1
            if done % log_every == 0:
                dist.all_reduce(window)
                if rank == 0:
                    print(f"{done}/{total} loss per token {(window[0] / window[1]).item():.4f}", flush=True)
                window.zero_()

    if rank == 0:
        torch.save(model.module.state_dict(), out)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    fire.Fire(main)
