"""What a station reports after each minute, as one number for every escalator."""

import torch.distributed as dist


def report(people, current, surge, weights):
    """The tables of one minute."""
    error = people @ weights - current
    calm = error[~surge]
    tables = {
        "gradient": people[~surge].T @ calm / len(calm),
        "load": people.mean(dim=0),
    }
    if surge.any():
        tables["surge"] = people[surge].T @ error[surge] / int(surge.sum())
    return tables, calm.square().mean().item()


def average(tables):
    """The mean of each table over all stations; the tables have names, which come in the same order everywhere."""
    for name in sorted(tables):
        dist.all_reduce(tables[name])
        tables[name] /= dist.get_world_size()
    return tables
