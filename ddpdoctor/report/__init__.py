"""Pure. A Report to text, one renderer per file."""
