"""Discriminative n-best rescoring for ASR. Word error rates come from an external scorer."""
import os
import pathlib
import subprocess
import sys

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

HERE = pathlib.Path(__file__).resolve().parent
WORDS = [f"{a}{b}" for a in ("ba", "ko", "mi", "ter", "lun") for b in ("na", "ris", "vel", "tos")]


class Rescorer(nn.Module):
    """Score of a hypothesis from its words and its acoustic score."""

    def __init__(self, dim=24):
        super().__init__()
        self.emb = nn.EmbeddingBag(len(WORDS), dim, mode="mean")
        self.mlp = nn.Sequential(nn.Linear(dim + 1, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, words, am):
        b, n, t = words.shape
        h = self.emb(words.view(b * n, t)).view(b, n, -1)
        return self.mlp(torch.cat([h, am.unsqueeze(-1)], -1)).squeeze(-1)


def nbest(count, seed, depth=4, length=10):
    """Reference and `depth` hypotheses with growing numbers of substitutions."""
    g = torch.Generator().manual_seed(seed)
    ref = torch.randint(len(WORDS), (count, length), generator=g)
    hyps = ref[:, None].repeat(1, depth, 1)
    errors = torch.zeros(count, depth)
    for d in range(depth):
        noisy = torch.rand(count, length, generator=g) < 0.12 * d
        hyps[:, d][noisy] = torch.randint(len(WORDS), (int(noisy.sum()),), generator=g)
        errors[:, d] = (hyps[:, d] != ref).sum(1)
    return ref, hyps, -errors + torch.randn(count, depth, generator=g), errors


def text(ids):
    return " ".join(WORDS[i] for i in ids)


def word_error_rate(model, split):
    """Feeds reference/hypothesis pairs to the scorer and returns its summary in percent."""
    ref, hyps, am, _ = split
    with torch.no_grad():
        best = model(hyps, am).argmax(1)
    scorer = subprocess.Popen([sys.executable, str(HERE / "align.py")], text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for i in range(len(ref)):
        scorer.stdin.write(f"utt{i:06d}\t{text(ref[i])}\t{text(hyps[i, best[i]])}\n")
    scorer.stdin.close()
    report = scorer.stdout.read().splitlines()
    scorer.wait()
    return float(report[-1].split()[-1])


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(4)
    ddp = DDP(Rescorer())
    opt = torch.optim.Adam(ddp.parameters(), lr=3e-3)
    _, hyps, am, errors = nbest(480 * world, seed=10)
    hyps, am, errors = hyps[rank::world], am[rank::world], errors[rank::world]
    mini, full = nbest(40, seed=20), nbest(int(os.getenv("EVAL_UTTS", 3000)), seed=21)

    for step in range(1, 61):
        rows = torch.randint(len(hyps), (12,))
        scores = ddp(hyps[rows], am[rows])
        loss = (scores.softmax(-1) * errors[rows]).sum(-1).mean() + 0.01 * F.mse_loss(scores, am[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 15 == 0:
            if rank == 0:
                split = full if step % 30 == 0 else mini
                print(f"step {step} loss {loss.item():.3f} WER {word_error_rate(ddp.module, split):.2f}", flush=True)
            dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
