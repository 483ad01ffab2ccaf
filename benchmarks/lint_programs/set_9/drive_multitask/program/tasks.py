from dataclasses import dataclass


@dataclass(frozen=True)
class Task:
    name: str
    weight: float = 1.0


def collect_tasks(cfg):
    """The tasks of all datasets, each once, with their loss weights."""
    names = {name for d in cfg["datasets"] for name in d["tasks"]}
    weights = cfg.get("loss_weights", {})
    unknown = set(weights) - names
    if unknown:
        raise ValueError(f"loss weights for unknown tasks: {sorted(unknown)}")
    return [Task(name, weights.get(name, 1.0)) for name in names]
