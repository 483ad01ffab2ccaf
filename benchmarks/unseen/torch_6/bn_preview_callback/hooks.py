import io

import torch


class Every:
    def __init__(self, period):
        self.period = period

    def __call__(self, engine):
        if engine.step % self.period == 0:
            self.act(engine)

    def act(self, engine):
        raise NotImplementedError


class Progress(Every):
    def act(self, engine):
        print(f"step {engine.step:4d} l1 {engine.loss.item():.4f}", flush=True)


class Saver(Every):
    def act(self, engine):
        self.blob = io.BytesIO()
        torch.save(engine.model.module.state_dict(), self.blob)


class Preview(Every):
    """Grey-scale strip of reconstructions of four fixed images."""

    def __init__(self, period):
        super().__init__(period)
        self.fixed = torch.rand(4, 1, 16, 16, generator=torch.Generator().manual_seed(99))
        self.strips = {}

    @torch.no_grad()
    def act(self, engine):
        engine.model.eval()
        images = engine.model(self.fixed)
        engine.model.train()
        strip = torch.cat(list(images[:, 0]), dim=1)
        self.strips[engine.step] = (strip.clamp(0, 1) * 255).byte()
