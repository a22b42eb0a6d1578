"""Writes docs/api.md from the docstrings of all that is public:  python docs/make_api.py"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from public import Entry, Section, sections

from fourbar.functions import arguments
from fourbar.functions.arguments import section

TARGET = Path(__file__).with_name("api.md")
_HEAD = """\
# API reference

Made from the docstrings by `python docs/make_api.py`. In shapes, `...` stands for leading axes, which broadcast.
"""
_ABOUT = {
    "Algorithms": """\
Methods of a robot, each compiled at its first call. Each also takes `out`, an array for the result (a tuple of them
where there are several), and `threads`, the largest number of threads for a batch, by name. A method with options, such
as `frame`, has `specialise(...)`: the function for one choice of options, which takes arrays only and is called faster.
All have derivatives: `jvp`, `vjp` and `jacobian`, see [Derivatives](derivatives.md).
""",
}
_EVERYWHERE = ("out", "threads")  # what all algorithms take
_TITLES = ("Parameters", "Returns", "Raises", "Warns", "See Also", "Notes", "Examples")
_HEADING = re.compile(rf"^(?:{'|'.join(_TITLES)})\n-+\n", re.MULTILINE)


def _code(text: str) -> str:
    """Names in double backticks as Markdown writes them."""
    return text.replace("``", "`")


def _joined(text: str) -> str:
    return _code(" ".join(text.split()))


def _listed(title: str, doc: str, leave: tuple[str, ...] = ()) -> Iterator[str]:
    """A section of entries as a list."""
    entries = [entry for entry in arguments.entries(doc, title) if entry.name not in leave]
    if entries:
        yield f"**{title}**\n"
        for name, kind, text in entries:
            typed = f"`{name}` ({kind})" if kind else f"`{name}`" if title == "Raises" else name
            yield f"- {typed}: {_joined(text)}"
        yield ""


def _examples(doc: str) -> Iterator[str]:
    """The examples as code; words between them stay words."""
    for block in re.split(r"\n\n+", section(doc, "Examples")):
        if block.startswith(">>>"):
            quoted = block.replace("'''", '"""')  # as ruff writes it in Markdown
            yield f"```pycon\n{quoted}\n```\n"
        elif block:
            yield f"{_code(block)}\n"


def rendered(doc: str, leave: tuple[str, ...] = ()) -> str:
    """A docstring in Markdown: its words, then its sections."""
    start = _HEADING.search(doc)
    parts = [_code(doc[: start.start()] if start else doc).rstrip() + "\n"]
    for title in ("Parameters", "Returns", "Raises", "Warns"):
        parts += _listed(title, doc, leave if title == "Parameters" else ())
    notes = section(doc, "Notes")
    parts += [f"{_code(notes)}\n"] if notes else []
    parts += _examples(doc)
    related = [f"`{name}`" for name in related_names(doc)]
    parts += [f"See also {', '.join(related)}.\n"] if related else []
    return "\n".join(parts)


def related_names(doc: str) -> list[str]:
    """The names in the section See Also."""
    return re.findall(r"^([\w.]+) : ", section(doc, "See Also"), re.MULTILINE)


def _title(entry: Entry) -> str:
    leave = _EVERYWHERE if entry.kind == "algorithm" else ()
    if entry.signature is None:
        return entry.name
    kept = [p for p in entry.signature.parameters.values() if p.name not in leave]
    return entry.name + str(inspect.Signature(kept))


def _entry(entry: Entry) -> str:
    leave = _EVERYWHERE if entry.kind == "algorithm" else ()
    return f"### `{_title(entry)}`\n\n{rendered(entry.doc, leave)}"


def _brief(entry: Entry) -> str:
    summary = " ".join(entry.doc.partition("\n\n")[0].split())
    return f"- `{_title(entry)}`: {summary}"


def _section(own: Section) -> Iterator[str]:
    yield f"## {own.title}\n"
    if own.title in _ABOUT:
        yield _ABOUT[own.title]
    if own.about is not None:
        yield rendered(inspect.cleandoc(own.about.__doc__ or ""))
    yield from (_entry(entry) for entry in own.entries if not entry.brief)
    brief = [_brief(entry) for entry in own.entries if entry.brief]
    if brief:
        yield "\n".join(brief) + "\n"


def make() -> str:
    """The whole page."""
    text = "\n".join([_HEAD, *(part for own in sections() for part in _section(own))])
    return re.sub(r"\n{3,}", "\n\n", text)


if __name__ == "__main__":
    TARGET.write_text(make(), encoding="utf-8")
