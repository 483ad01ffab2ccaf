import time

import torch


@torch.no_grad()
def gather_full(model):
    """Called by all ranks; all of them get the complete weights."""
    return {name: p.full_tensor() for name, p in model.named_parameters()}


class Exporter:
    def __init__(self, rank, build, pack_seconds=3.5):
        self.rank = rank
        self.build = build
        self.pack_seconds = pack_seconds
        self.latest = None

    def export(self, model, step):
        self.latest = gather_full(model)
        if self.rank == 0:
            self._pack(step)

    def _pack(self, step):
        size, until = 0, time.monotonic() + self.pack_seconds
        while time.monotonic() < until:
            size = sum(w.numel() * w.element_size() for w in self.latest.values())
            time.sleep(0.05)
        print(f"packed {size} bytes of step {step}", flush=True)

    @torch.no_grad()
    def judge(self, batches):
        """Accuracy of the exported weights, in an ordinary copy of the model."""
        plain = self.build()
        plain.load_state_dict(self.latest)
        right = total = 0
        for x, y in batches:
            time.sleep(0.04)
            right += (plain(x).argmax(-1) == y).sum().item()
            total += y.numel()
        return right / total
