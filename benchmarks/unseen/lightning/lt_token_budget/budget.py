from dataclasses import dataclass, field


@dataclass
class TokenBudget:
    """Tokens that are spent in an epoch, so that an epoch has the same size for every corpus."""

    per_epoch: int
    spent: int = field(default=0, init=False)
    epochs: list = field(default_factory=list, init=False)

    def reset(self) -> None:
        if self.spent:
            self.epochs.append(self.spent)
        self.spent = 0

    def spend(self, mask) -> None:
        self.spent += int(mask.sum())

    @property
    def exhausted(self) -> bool:
        return self.spent >= self.per_epoch
