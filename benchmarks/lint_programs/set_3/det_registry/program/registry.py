class Registry:
    def __init__(self, name):
        self.name, self._items = name, {}

    def register(self, cls):
        self._items[cls.__name__] = cls
        return cls

    def build(self, cfg, **extra):
        cfg = dict(cfg)
        return self._items[cfg.pop("type")](**cfg, **extra)


MODELS, DATASETS, HOOKS = Registry("models"), Registry("datasets"), Registry("hooks")
