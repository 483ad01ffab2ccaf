"""Pure. The merged stacks as a tree that folds and can be searched: a branch for each set of ranks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ddpdoctor.model.evidence import Evidence
from ddpdoctor.model.exhibit import Exhibit
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.report import StackNode
from ddpdoctor.model.stacks import Site
from ddpdoctor.report.code_frame import ranks_in_words
from ddpdoctor.report.html.element import Child, Markup, element, section
from ddpdoctor.report.paths import short

#: branches, and other threads, that are shown
_MOST_BRANCHES = 200
_MOST_THREADS = 40


def drawn(exhibit: Exhibit, directory: str) -> Child:
    """The section, None without stacks."""
    nodes = exhibit.report.stacks
    others = _threads(exhibit, directory)
    if not nodes and not others:
        return None
    left = [_MOST_BRANCHES]
    tree = element("div", *(_branch(node, exhibit, directory, left) for node in nodes), id="stack-tree")
    cut = element("p", "More branches are in the JSON report.", class_="lead") if left[0] < 0 else None
    lead = "The training threads of all ranks, merged: frames that ranks share stand once, outermost first."
    threads = element("details", element("summary", f"Other threads ({len(others)})"), *others) if others else None
    return section("stacks", "Stacks", _search(), tree, cut, threads, lead=lead)


def _search() -> Markup:
    box = element("input", type="search", id="stack-search", data_search="stack-tree", autocomplete="off")
    label = element("label", "Find in the stacks", for_="stack-search")
    return element(
        "div", label, box, element("output", for_="stack-search", aria_live="polite"), class_="find", hidden=True
    )


def _branch(node: StackNode, exhibit: Exhibit, directory: str, left: list[int]) -> Child:
    """The frames that the same ranks share, and a branch for each way they go on."""
    left[0] -= 1
    if left[0] < 0:
        return None
    chain = [node]
    while len(chain[-1].children) == 1 and chain[-1].children[0].ranks == node.ranks:
        chain.append(chain[-1].children[0])
    last = chain[-1]
    ends = node.ranks - RankSet.of(rank for child in last.children for rank in child.ranks)
    here = f"{last.site.function} at {_place(last.site, directory)}"
    summary = element(
        "summary",
        element("strong", ranks_in_words(node.ranks)),
        element("span", f" ({len(node.ranks)}) {'in' if len(ends) else 'through'} {here}", class_="count"),
    )
    frames = element("ol", *(_frame(one.site, exhibit, directory) for one in chain), class_="frames")
    below = [_branch(child, exhibit, directory, left) for child in last.children]
    return element("details", summary, frames, *below, class_="branch", open=True)


def _frame(site: Site, exhibit: Exhibit, directory: str) -> Markup:
    installed = site.file in exhibit.installed
    return element(
        "li",
        element("span", site.function, class_="installed mono" if installed else "mono"),
        " ",
        element("span", _place(site, directory), class_="place mono"),
    )


def _place(site: Site, directory: str) -> str:
    return f"{short(site.file, directory)}:{site.line}"


def _threads(exhibit: Exhibit, directory: str) -> list[Markup]:
    """Threads beside the training ones, those with equal names and frames together."""
    found: dict[tuple[str, tuple[Site, ...]], list[Rank]] = {}
    for name, frames, rank in _others(exhibit.evidence):
        found.setdefault((name, frames), []).append(rank)
    shown = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))[:_MOST_THREADS]
    return [_thread(name, frames, ranks, exhibit, directory) for (name, frames), ranks in shown]


def _others(evidence: Evidence | None) -> Iterator[tuple[str, tuple[Site, ...], Rank]]:
    for seen in evidence.ranks if evidence else ():
        for thread in seen.stacks.threads if seen.stacks else ():
            if thread.os_id != seen.thread and thread.frames:
                yield thread.name, thread.frames, seen.rank


def _thread(name: str, frames: tuple[Site, ...], ranks: Iterable[Rank], exhibit: Exhibit, directory: str) -> Markup:
    merged = RankSet.of(ranks)
    summary = element("summary", element("strong", ranks_in_words(merged)), f" {name} ", _first(frames, directory))
    listed = element("ol", *(_frame(site, exhibit, directory) for site in reversed(frames)), class_="frames")
    return element("details", summary, listed, class_="branch")


def _first(frames: tuple[Site, ...], directory: str) -> Markup:
    return element("span", f"in {frames[0].function} at {_place(frames[0], directory)}", class_="count")
