"""Pure. Paths as readers see them."""


def short(path: str, directory: str) -> str:
    """The path relative to the reader's directory if it is in it; "" and "/" shorten nothing."""
    root = f"{directory}/"
    return path[len(root) :] if len(root) > 2 and path.startswith(root) else path
