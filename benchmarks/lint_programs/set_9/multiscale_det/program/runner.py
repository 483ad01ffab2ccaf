import torch.distributed as dist


class EpochBasedRunner:
    def __init__(self, model, optimizer, data_loader, device, work_dir, max_epochs):
        self.model = model
        self.optimizer = optimizer
        self.data_loader = data_loader
        self.device = device
        self.work_dir = work_dir
        self.max_epochs = max_epochs
        self.rank, self.world_size = dist.get_rank(), dist.get_world_size()
        self.epoch = self.iter = self.inner_iter = 0
        self.outputs = None
        self._hooks = []

    def register_hook(self, hook):
        self._hooks.append(hook)

    def call_hook(self, name):
        for hook in self._hooks:
            getattr(hook, name)(self)

    def run(self):
        while self.epoch < self.max_epochs:
            self.call_hook("before_epoch")
            self.model.train()
            for self.inner_iter, (imgs, boxes, labels) in enumerate(self.data_loader):
                imgs = imgs.to(self.device, non_blocking=True)
                boxes = boxes.to(self.device, non_blocking=True)
                labels = labels.to(self.device, non_blocking=True)
                self.outputs = self.model(imgs, boxes, labels)
                self.optimizer.zero_grad()
                self.outputs["loss"].backward()
                self.optimizer.step()
                self.call_hook("after_iter")
                self.iter += 1
            self.call_hook("after_epoch")
            self.epoch += 1
