"""Fine-tune for a few steps, then run the task suite on all ranks."""
import argparse
import json
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.functional import cross_entropy

import tasks as T


class TinyLM(nn.Module):
    def __init__(self, v=40, h=24):
        super().__init__()
        self.e, self.r, self.o = nn.Embedding(v, h), nn.GRU(h, h, batch_first=True), nn.Linear(h, v)

    def forward(self, ids):
        return self.o(self.r(self.e(ids))[0])


def finetune(lm, steps, rank):
    ddp = nn.parallel.DistributedDataParallel(lm)
    opt = torch.optim.AdamW(ddp.parameters(), 1e-3)
    for _ in range(steps):
        ids = torch.randint(0, 40, (4, 13))
        loss = cross_entropy(ddp(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.02)
    if rank == 0:
        print(f"fine-tuned, loss {loss.item():.3f}", flush=True)


class Evaluator:
    def __init__(self, lm, names):
        self.lm = lm.eval()
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.tasks = [T.REGISTRY[n](self.rank, self.world) for n in names]

    def queue(self):
        """Longest task first, so that a wrong batch size shows early."""
        return sorted(self.tasks, key=lambda t: -len(t.docs))

    @torch.no_grad()
    def loglikelihood(self, task):
        total = torch.zeros(2)
        for doc in task.docs:
            ids = task.inputs(doc)[None]
            nll = cross_entropy(self.lm(ids[:, :-1]).flatten(0, 1), ids[0, 1:])
            total += torch.tensor([nll.item(), 1.0])
            time.sleep(0.01)
        dist.all_reduce(total)
        return {"nll": (total[0] / total[1]).item()}

    @torch.no_grad()
    def generate_until(self, task):
        texts = {}
        for doc in task.docs:
            ids = task.inputs(doc)[None]
            for _ in range(3):
                ids = torch.cat([ids, self.lm(ids)[:, -1:].argmax(-1)], 1)
            texts[doc] = ids[0, -3:].tolist()
            time.sleep(0.01)
        shards = [None] * self.world
        dist.all_gather_object(shards, texts)
        merged = {k: v for s in shards for k, v in s.items()}
        return {"distinct": len({tuple(v) for v in merged.values()}) / len(merged)}

    def run(self):
        results = {}
        for task in self.queue():
            results[task.name] = getattr(self, task.output_type)(task)
        return results


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--tasks", default="arith,translate,cloze,summaries")
    ap.add_argument("--steps", type=int, default=25)
    args = ap.parse_args()
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    lm = TinyLM()
    finetune(lm, args.steps, dist.get_rank())
    results = Evaluator(lm, args.tasks.split(",")).run()
    if dist.get_rank() == 0:
        print(json.dumps(results, indent=1))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
