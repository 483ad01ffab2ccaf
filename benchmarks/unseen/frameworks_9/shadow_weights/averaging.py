import copy

import torch


class ShadowWeights:
    """Exponential average of the weights, kept by the main process, which also exports the model."""

    def __init__(self, accelerator, start: int, decay: float):
        self.accelerator = accelerator
        self.start = start
        self.decay = decay
        self.shadow = None
        self.updates = 0

    def after_step(self, step, model):
        if step < self.start or not self.accelerator.is_main_process:
            return
        if self.shadow is None:
            self.shadow = self._fork(model)
        else:
            self._blend(model)
        self.updates += 1

    def _fork(self, model):
        twin = copy.deepcopy(self.accelerator.unwrap_model(model))
        twin = self.accelerator.prepare(twin)
        twin.eval()
        return twin

    @torch.no_grad()
    def _blend(self, model):
        live = self.accelerator.unwrap_model(model)
        mean = self.accelerator.unwrap_model(self.shadow)
        for m, p in zip(mean.parameters(), live.parameters()):
            m.lerp_(p, 1.0 - self.decay)

    def report(self):
        if self.shadow is not None:
            norm = sum(p.norm().item() for p in self.shadow.parameters())
            print(f"averaged over {self.updates} updates, weight norm {norm:.3f}")
