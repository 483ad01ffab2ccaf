from torch.optim.lr_scheduler import ReduceLROnPlateau


class PlateauPolicy:
    """Lowers the learning rate while the validation error stands still; below the floor nothing is to be gained."""

    def __init__(self, optimizer, floor, factor=0.3, patience=1):
        self.optimizer = optimizer
        self.floor = floor
        self.scheduler = ReduceLROnPlateau(optimizer, factor=factor, patience=patience)
        self.history = []

    @property
    def lr(self):
        return self.optimizer.param_groups[0]["lr"]

    def exhausted(self, error):
        self.history.append(error)
        self.scheduler.step(error)
        return self.lr < self.floor
