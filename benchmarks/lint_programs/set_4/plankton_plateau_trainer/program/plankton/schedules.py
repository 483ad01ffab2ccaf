from torch.optim import lr_scheduler

SCHEDULES = {}


def schedule(name):
    def add(fn):
        SCHEDULES[name] = fn
        return fn

    return add


class EpochSchedule:
    """Common interface: `end_epoch(result)` after each validation."""

    def __init__(self, inner, monitor=None):
        self.inner, self.monitor = inner, monitor

    def end_epoch(self, result):
        if self.monitor is None:
            self.inner.step()
        else:
            self.inner.step(result[self.monitor].avg)


@schedule("cosine")
def cosine(opt, cfg):
    return EpochSchedule(lr_scheduler.CosineAnnealingLR(opt, cfg.epochs))


@schedule("plateau")
def plateau(opt, cfg):
    inner = lr_scheduler.ReduceLROnPlateau(opt, factor=cfg.factor, patience=cfg.patience)
    return EpochSchedule(inner, monitor="loss")
