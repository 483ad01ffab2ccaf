"""Season report: one page per product group, rendered when the fit is over."""
import random
import time


def fetch_template(attempts=6):
    """The template server sheds load in the evening; try again with growing pauses."""
    rng = random.Random(4)
    for attempt in range(attempts):
        if attempt >= 4 or rng.random() > 0.95:
            return "<h1>{group}</h1><p>{error:.3f}</p>"
        time.sleep(0.4 * 2**attempt)
    raise TimeoutError("no template")


def render(folder, errors):
    template = fetch_template()
    for group, error in enumerate(errors):
        page = template.format(group=f"group {group}", error=error)
        time.sleep(0.4)  # the plots
        (folder / f"group-{group:02d}.html").write_text(page)
    (folder / "index.html").write_text("\n".join(p.name for p in sorted(folder.glob("group-*.html"))))
