"""The little scoreboard that the field team looks at during training."""
import torch


class ReefBoard:
    def __init__(self, accelerator, survey_loader, every):
        self.accelerator = accelerator
        self.survey_loader = survey_loader
        self.every = every
        self.rows = []

    def after_step(self, model, step, loss):
        if not self.accelerator.is_main_process:
            return
        if step % 10 == 0:
            print(f"step {step:4d}  loss {loss.item():.4f}", flush=True)
        if step % self.every == 0:
            self.rows.append((step, self.survey_error(model)))
            print(f"step {step:4d}  survey error {self.rows[-1][1]:.4f}", flush=True)

    @torch.no_grad()
    def survey_error(self, model):
        model.eval()
        total, seen = 0.0, 0
        for tiles, cover in self.survey_loader:
            estimate = model(tiles.to(self.accelerator.device))
            total += (estimate - cover).abs().sum().item()
            seen += len(cover)
        model.train()
        return total / seen
