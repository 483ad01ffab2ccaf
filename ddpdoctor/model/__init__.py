"""Pure. The vocabulary that every stage speaks: frozen dataclasses without I/O, importing nothing of ours."""
