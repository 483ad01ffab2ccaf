class Registry:
    def __init__(self, name):
        self.name = name
        self._items = {}

    def register(self, key):
        def wrap(obj):
            if key in self._items:
                raise KeyError(f"{key} is already in registry {self.name}")
            self._items[key] = obj
            return obj

        return wrap

    def build(self, spec, **extra):
        spec = dict(spec)
        return self._items[spec.pop("name")](**spec, **extra)


MODELS = Registry("models")
DATASETS = Registry("datasets")
