import torch
import torch.distributed as dist

HOOKS = {}


def hook(name):
    def add(cls):
        HOOKS[name] = cls
        return cls
    return add


class Hook:
    engine = None

    def before_run(self):
        pass

    def after_step(self):
        pass

    def after_run(self):
        pass


@hook("loss_line")
class LossLine(Hook):
    def after_step(self):
        if self.engine.rank == 0 and self.engine.step % 10 == 0:
            print(f"step {self.engine.step} loss {self.engine.last['loss']:.4f}", flush=True)


@hook("calibration")
class Calibration(Hook):
    """Collects score histograms and reports the expected click rate per bin."""

    def __init__(self, every=14, bins=8):
        self.every = every
        self.bins = bins
        self.counts = torch.zeros(bins)

    def after_step(self):
        probability = self.engine.last["scores"].sigmoid()
        self.counts += torch.histc(probability, self.bins, 0.0, 1.0)
        if self.engine.step % self.every == 0:
            self.report()

    def report(self):
        parts = [torch.empty_like(self.counts) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, self.counts)
        share = sum(parts) / sum(parts).sum()
        print("calibration", [round(v, 3) for v in share.tolist()], flush=True)
        self.counts.zero_()


@hook("final_sync")
class FinalSync(Hook):
    def after_run(self):
        dist.barrier()


def make_hooks(names, rank, reporter):
    """The console hooks run on everyone, the reporting ones on the reporter."""
    reporting = {"calibration"}
    for name in names:
        if name in reporting and rank != reporter:
            continue
        yield HOOKS[name]()
