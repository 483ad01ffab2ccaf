"""What a run has done so far; written with each checkpoint."""
from dataclasses import asdict, dataclass


@dataclass
class Progress:
    epoch: int = 0
    step: int = 0
    seen: int = 0           # utterances in this epoch
    seen_total: int = 0     # utterances in the whole run

    def advance(self, utterances):
        self.step += 1
        self.seen += utterances
        self.seen_total += utterances

    def next_epoch(self):
        self.epoch += 1
        self.seen = 0

    def state_dict(self):
        return asdict(self)
