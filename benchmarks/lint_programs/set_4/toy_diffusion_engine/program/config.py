from types import SimpleNamespace

import yaml


def load_config(path, overrides):
    with open(path) as f:
        raw = yaml.safe_load(f)
    for item in overrides:
        key, value = item.split("=", 1)
        *parents, leaf = key.split(".")
        node = raw
        for name in parents:
            node = node[name]
        node[leaf] = yaml.safe_load(value)
    return _wrap(raw)


def _wrap(node):
    if isinstance(node, dict):
        return SimpleNamespace(**{k: _wrap(v) for k, v in node.items()})
    return node
