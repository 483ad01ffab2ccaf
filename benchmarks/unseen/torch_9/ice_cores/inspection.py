import hashlib
import io
import os
import time

import torch
import torch.distributed as dist


class Validator:
    """Rank 0 goes through the reference core, centimetre by centimetre, and tells the others whether to go on."""

    def __init__(self, model, core, patience=2):
        self.model = model
        self.core = core
        self.patience = patience
        self.best = float("inf")
        self.bad = 0

    @torch.no_grad()
    def _reference_error(self):
        net = self.model.module
        net.eval()
        x, y = self.core
        errors = []
        for piece, truth in zip(x.split(8), y.split(8)):
            errors.append((net(piece) - truth).abs().mean())
            time.sleep(0.05)
        net.train()
        return torch.stack(errors).mean().item()

    def go_on(self, epoch):
        verdict = [None]
        if dist.get_rank() == 0:
            error = self._reference_error()
            self.bad = 0 if error < self.best else self.bad + 1
            self.best = min(self.best, error)
            print(f"epoch {epoch}: reference error {error:.4f}, best {self.best:.4f}", flush=True)
            verdict = [self.bad < self.patience]
        dist.broadcast_object_list(verdict, src=0)
        return verdict[0]


class Archivist:
    """Writes a signed checkpoint on rank 0; the signature takes its time."""

    def __init__(self, folder, seconds):
        self.folder = folder
        self.seconds = seconds

    def store(self, model, epoch):
        if dist.get_rank() != 0:
            return
        buffer = io.BytesIO()
        torch.save(model.module.state_dict(), buffer)
        digest = hashlib.sha256(buffer.getvalue()).digest()
        until = time.monotonic() + self.seconds
        while time.monotonic() < until:
            for _ in range(2000):
                digest = hashlib.sha256(digest).digest()
        with open(os.path.join(self.folder, f"core_{epoch}.pt"), "wb") as f:
            f.write(buffer.getvalue() + digest)


class SiteScores:
    """Mean scores over the ranks of a drilling site, in the site's own group."""

    NAMES = {"dome": ("dust",), "shelf": ("dust", "salt", "ash", "melt")}

    def __init__(self, sites):
        rank = dist.get_rank()
        for site, members in sites.items():
            group = dist.new_group(members)
            if rank in members:
                self.site, self.group, self.size = site, group, len(members)

    def reduce(self, scores):
        out = {}
        for name in self.NAMES[self.site]:
            value = torch.tensor(scores[name])
            dist.all_reduce(value, group=self.group)
            out[name] = value.item() / self.size
        return out
