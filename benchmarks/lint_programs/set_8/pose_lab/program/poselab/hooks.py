import os

import torch

from .core import HOOKS, collect_results, get_dist_info, reduce_mean


class Hook:
    def before_epoch(self, runner): ...
    def after_iter(self, runner): ...
    def after_epoch(self, runner): ...


@HOOKS.register
class SamplerSeedHook(Hook):
    def before_epoch(self, runner):
        runner.train_loader.sampler.set_epoch(runner.epoch)


@HOOKS.register
class LoggerHook(Hook):
    def __init__(self, interval):
        self.interval = interval

    def after_iter(self, runner):
        if (runner.iter + 1) % self.interval == 0:
            loss = reduce_mean(runner.loss)
            runner.log(f"Epoch [{runner.epoch + 1}][{runner.inner_iter + 1}/{len(runner.train_loader)}] "
                       f"loss: {loss.item():.4f}")


@HOOKS.register
class EvalHook(Hook):
    def __init__(self, interval, thr):
        self.interval, self.thr = interval, thr

    @torch.no_grad()
    def after_epoch(self, runner):
        if (runner.epoch + 1) % self.interval:
            return
        runner.model.eval()
        results = []
        for batch in runner.val_loader:
            pred = runner.raw_model(batch["img"].to(runner.device))
            results.extend(pred.cpu().unbind(0))
        runner.model.train()
        dataset = runner.val_loader.dataset
        results = collect_results(results, len(dataset))
        if results is not None:
            metrics = dataset.evaluate(results, self.thr)
            runner.log("Epoch(val) " + "  ".join(f"{k}: {v:.4f}" for k, v in metrics.items()))


@HOOKS.register
class CheckpointHook(Hook):
    def after_epoch(self, runner):
        if get_dist_info()[0] == 0:
            os.makedirs(runner.cfg["work_dir"], exist_ok=True)
            torch.save(runner.raw_model.state_dict(), os.path.join(runner.cfg["work_dir"], "latest.pth"))
