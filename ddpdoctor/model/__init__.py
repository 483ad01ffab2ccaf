"""Pure. The vocabulary of all stages: frozen dataclasses without I/O, which import nothing else of ddpdoctor."""
