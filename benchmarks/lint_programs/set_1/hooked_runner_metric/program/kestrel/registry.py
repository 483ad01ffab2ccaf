class Registry:
    def __init__(self, name):
        self.name = name
        self._items = {}

    def register(self, cls):
        if cls.__name__ in self._items:
            raise KeyError(f"{cls.__name__} is already in {self.name}")
        self._items[cls.__name__] = cls
        return cls

    def build(self, cfg, **default_args):
        cfg = dict(cfg)
        kind = cfg.pop("type")
        if kind not in self._items:
            raise KeyError(f"{kind} is not in {self.name}; known: {sorted(self._items)}")
        return self._items[kind](**{**default_args, **cfg})


MODELS = Registry("models")
METRICS = Registry("metrics")
HOOKS = Registry("hooks")
