"""Average precision over the detections of all ranks."""
import torch
import torch.distributed as dist


class AveragePrecision:
    def __init__(self, device, score_thresh=0.05):
        self.device = device
        self.score_thresh = score_thresh
        self.reset()

    def reset(self):
        self.scores, self.matches = [], []
        self.n_objects = torch.zeros(1, device=self.device)

    def update(self, probs, targets):
        keep = probs > self.score_thresh
        self.scores.append(probs[keep])
        self.matches.append(targets[keep])
        self.n_objects += targets.sum()

    def gather(self):
        local = torch.stack([torch.cat(self.scores), torch.cat(self.matches)])
        parts = [torch.empty_like(local) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, local)
        return torch.cat(parts, dim=1)

    def compute(self):
        scores, matches = self.gather()
        n_objects = self.n_objects.clone()
        dist.all_reduce(n_objects)
        order = scores.argsort(descending=True)
        hits = matches[order]
        tp = hits.cumsum(0)
        precision = tp / torch.arange(1, len(hits) + 1, device=self.device)
        return (precision * hits).sum().item() / max(n_objects.item(), 1.0)
