import logging

import comm
import hooks
from events import EventStorage


class Trainer:
    def __init__(self, model, raw_model, optimizer, data_iter, device, max_iter):
        self.model = model
        self.raw_model = raw_model
        self.optimizer = optimizer
        self.data_iter = data_iter
        self.device = device
        self.max_iter = max_iter
        self.iter = 0
        self.storage = EventStorage()
        self._hooks = []

    def register_hooks(self, items):
        for h in items:
            h.trainer = self
            self._hooks.append(h)

    def run_step(self):
        images, boxes, labels = (t.to(self.device) for t in next(self.data_iter))
        losses = self.model(images, boxes, labels)
        total = sum(losses.values())
        self.optimizer.zero_grad()
        total.backward()
        self.optimizer.step()
        self.storage.put_scalars(total_loss=total.item(), **{k: v.item() for k, v in losses.items()})

    def train(self):
        for self.iter in range(self.max_iter):
            for h in self._hooks:
                h.before_step()
            self.run_step()
            for h in self._hooks:
                h.after_step()


def setup_logger():
    logging.basicConfig(format="[%(asctime)s %(name)s] %(message)s")
    level = logging.INFO if comm.is_main_process() else logging.WARNING
    logging.getLogger("mini_det").setLevel(level)


def default_hooks(args, optimizer):
    items = [hooks.IterationTimer(), hooks.LRScheduler(optimizer, args.max_iter)]
    if comm.is_main_process():
        items.append(hooks.PeriodicCheckpointer(args.checkpoint_period, args.output_dir))
        items.append(hooks.PeriodicWriter(args.log_period))
    return items
