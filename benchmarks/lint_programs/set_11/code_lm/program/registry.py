class Registry:
    def __init__(self, kind):
        self.kind, self.entries = kind, {}

    def register(self, name):
        def keep(cls):
            self.entries[name] = cls
            return cls

        return keep

    def build(self, cfg, *args):
        options = dict(cfg)
        name = options.pop("name")
        if name not in self.entries:
            raise KeyError(f"no {self.kind} called {name!r}; there are {sorted(self.entries)}")
        return self.entries[name](*args, **options)


MODELS = Registry("model")
OBJECTIVES = Registry("objective")
