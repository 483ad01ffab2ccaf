import torch.nn.functional as F


class SimpleTrainer:
    def __init__(self, model, data_iter, optimizer, device):
        self.model = model
        self.data_iter = data_iter
        self.optimizer = optimizer
        self.device = device
        self.iter = 0
        self.max_iter = 0
        self.last_loss = None
        self._hooks = []

    def register_hooks(self, hooks):
        for hook in hooks:
            hook.trainer = self
            self._hooks.append(hook)

    def run_step(self):
        images, masks = next(self.data_iter)
        images, masks = images.to(self.device), masks.to(self.device)
        loss = F.cross_entropy(self.model(images), masks)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.last_loss = loss.detach()

    def train(self, max_iter):
        self.max_iter = max_iter
        for hook in self._hooks:
            hook.before_train()
        self.model.train()
        for self.iter in range(max_iter):
            self.run_step()
            for hook in self._hooks:
                hook.after_step()
        for hook in self._hooks:
            hook.after_train()
