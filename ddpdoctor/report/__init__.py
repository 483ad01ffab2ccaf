"""Pure. Renders a Report as text, one renderer per file."""
