"""Called by torch at the end of `import torch` in every process of a watched job; does nothing in other processes.

This folder is on the job's PYTHONPATH, the ddpdoctor package need not be: the probe is loaded from its folder beside
this one, under a package name of its own.
"""

import os
import sys

NAME = "_ddpdoctor_probe"


def load() -> None:
    """Install the probe. Never raises and never prints: an error here would make the job's `import torch` fail."""
    run = os.environ.get("_DDPDOCTOR_RUN", "")
    if not run or not os.access(run, os.W_OK | os.X_OK) or NAME in sys.modules:
        return
    try:
        import importlib
        import importlib.util

        folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        spec = importlib.util.spec_from_file_location(
            NAME, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
        )
        if spec is None or spec.loader is None:
            return
        package = importlib.util.module_from_spec(spec)
        sys.modules[NAME] = package
        spec.loader.exec_module(package)
        importlib.import_module(NAME + ".install").install(run)
    except Exception:  # noqa: BLE001 - boundary: the job must not notice a probe that cannot be installed
        return
