from accelerate import Accelerator


class ConvergenceWatch:
    """Ends the training once the error has stayed under a target for some rounds."""

    def __init__(self, accelerator: Accelerator, target: float, rounds: int):
        self.accelerator = accelerator
        self.target = target
        self.rounds = rounds
        self.good = 0

    def update(self, loss: float) -> None:
        self.good = self.good + 1 if loss < self.target else 0

    def finished(self) -> bool:
        if self.good < self.rounds:
            return False
        self.accelerator.set_trigger()
        return self.accelerator.check_trigger()
