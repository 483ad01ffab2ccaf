from typing import Dict

import torch
import torch.nn.functional as F

from . import comm


def auc(score: torch.Tensor, label: torch.Tensor) -> float:
    order = torch.argsort(score)
    ranks = torch.empty_like(score, dtype=torch.float64)
    ranks[order] = torch.arange(1, len(score) + 1, dtype=torch.float64, device=score.device)
    pos = label > 0.5
    n_pos, n_neg = int(pos.sum()), int((~pos).sum())
    if n_pos == 0 or n_neg == 0:
        return float("nan")
    return float((ranks[pos].sum() - n_pos * (n_pos + 1) / 2) / (n_pos * n_neg))


@torch.no_grad()
def validate(net, impressions, batch_size) -> Dict[str, float]:
    net.eval()
    scores, labels = [], []
    for cat, num, click in impressions.sequential(batch_size):
        scores.append(net(cat, num))
        labels.append(click)
    net.train()
    score = comm.gather_concat(torch.cat(scores))
    label = comm.gather_concat(torch.cat(labels))
    return {
        "auc": auc(score, label),
        "logloss": float(F.binary_cross_entropy_with_logits(score, label)),
        "ctr": float(label.mean()),
    }
