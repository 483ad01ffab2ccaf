"""Gradual unfreezing: first the head alone, then the stages from the top down."""


class GradualUnfreeze:
    def __init__(self, net, optimizer, every, lr, decay=0.4):
        self.waiting = list(net.stages)
        self.optimizer = optimizer
        self.every = every
        self.lr = lr
        self.decay = decay

    def start_epoch(self, epoch):
        """Returns whether something was unfrozen."""
        if epoch == 0 or epoch % self.every or not self.waiting:
            return False
        stage = self.waiting.pop()
        params = list(stage.parameters())
        for p in params:
            p.requires_grad_(True)
        self.lr *= self.decay
        self.optimizer.add_param_group({"params": params, "lr": self.lr})
        return True
