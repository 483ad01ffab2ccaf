"""How many micro-batches make one optimizer step."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Host:
    name: str
    memory_gb: int


HOSTS = (Host("gx-01", 80), Host("gx-02", 48), Host("gx-03", 80), Host("gx-04", 80))


def host_of(rank):
    return HOSTS[rank % len(HOSTS)]


class BatchSchedule:
    """Starts with small effective batches and grows them after the warm-up.

    The larger the memory that is taken by a host's activations, the more of
    the grown batch has to come from accumulation.
    """

    def __init__(self, host, warmup=12, target_tokens=96, tokens_per_gb=0.6):
        self.host = host
        self.warmup = warmup
        per_micro = host.memory_gb * tokens_per_gb
        self.grown = max(1, round(target_tokens / per_micro))
        self.since_step = 0

    def accumulate(self, index):
        return 2 if index < self.warmup else self.grown

    def closes(self, index):
        self.since_step += 1
        if self.since_step >= self.accumulate(index):
            self.since_step = 0
            return True
        return False
