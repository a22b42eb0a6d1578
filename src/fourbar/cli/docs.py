"""docs: search the documentation.

Lists sections of pages, functions and classes that contain all words; matches in headings come first. Without words,
lists the pages; `--read PAGE` prints a page or a section.
"""

from __future__ import annotations

import argparse
import inspect
import re
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from ..errors import UnknownNameError, unknown

_PACKAGE = Path(__file__).resolve().parents[1]
_IN_HEADING, _IN_TITLE, _IN_CODE, _MOST_IN_TEXT = 12.0, 8.0, 2.0, 5  # weights of matches, and how many in a text count
_LONGER = 0.2  # weight of words that only begin like the one asked for


class Section(NamedTuple):
    """A part of a page below a heading, or a function or class: where it is, its title and heading, its text."""

    place: str
    title: str
    heading: str
    text: str


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "words", nargs="*", metavar="WORD", help="words that must all occur; without any, lists the pages"
    )
    parser.add_argument("--read", metavar="PAGE", help="print a page, or a section: loops, loops#clusters")
    parser.add_argument("-n", type=int, default=8, metavar="N", help="number of results (default: 8)")


def run(args: argparse.Namespace) -> int:
    """Print a page, the list of pages, or the sections that match."""
    if args.read is not None:
        print(_read(args.read))
        return 0
    if not args.words:
        print(_contents())
        return 0
    sections = [*page_sections(), *_names()]
    matches = search(sections, args.words)
    if not matches:
        wanted = " and ".join(args.words)
        raise UnknownNameError(f"no section of the documentation has {wanted}{_guess(sections, args.words)}")
    print("\n\n".join(_excerpt(section, args.words) for section in matches[: args.n]))
    left = len(matches) - args.n
    more = f"{left} more: fourbar docs {' '.join(args.words)} -n {len(matches)}. " if left > 0 else ""
    print(f"\n{more}To read one: fourbar docs --read {matches[0].place}")
    return 0


def folder() -> Path:
    """The pages: in the installed package, or beside the source of a checkout."""
    installed, checkout = _PACKAGE / "docs", _PACKAGE.parents[1] / "docs"
    return installed if installed.is_dir() else checkout


def pages() -> dict[str, str]:
    """The text of every page by its name; the reference of the API left out, whose names are searched as they are."""
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder().glob("*.md")) if path.stem != "api"}


def anchor(heading: str) -> str:
    """A heading as links write it."""
    return re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-")


def page_sections() -> Iterator[Section]:
    """The sections of all pages."""
    for name, text in pages().items():
        title, heading, lines, in_code = name, "", [], False
        for line in [*text.splitlines(), "## "]:
            in_code ^= line.startswith("```")
            level = 0 if in_code else len(line) - len(line.lstrip("#"))
            if level == 0 or not line[level:].startswith(" "):
                lines.append(line)
                continue
            if heading:
                yield Section(_place(name, title, heading), title, heading, "\n".join(lines).strip())
            heading, lines = line[level:].strip(), []
            title = heading if level == 1 else title


def _place(name: str, title: str, heading: str) -> str:
    """A section as `--read` takes it."""
    return name if heading == title else f"{name}#{anchor(heading)}"


def _names() -> Iterator[Section]:
    """Functions, classes and their methods, with their docstrings."""
    import fourbar as fb

    from ..functions.registry import METHODS
    from ..sim.scenes.batch import Batch
    from ..sim.scenes.step_function import StepFunction

    for name, method in METHODS.items():
        yield Section(f"robot.{name}", "API", f"robot.{name}", inspect.cleandoc(method.doc))
    for owner, called in ((fb, "fb"), (fb.Builder, "Builder"), (fb.joints, "fb.joints"), (fb.loops, "fb.loops")):
        for name in getattr(owner, "__all__", None) or [x for x in vars(owner) if not x.startswith("_")]:
            thing = getattr(owner, name)
            if callable(thing) and getattr(thing, "__doc__", None):
                yield _api_section(f"{called}.{name}", thing.__doc__)
            if isinstance(thing, type) and thing is not fb.Builder:
                yield from (x for x in _members(f"{called}.{name}", thing) if x.place != "fb.Scene.step")
    yield _api_section("fb.Scene.step", StepFunction.__call__.__doc__)
    yield from _members("fb.Scene.step", StepFunction)
    yield from _members("Batch", Batch)


def _members(called: str, kind: type) -> Iterator[Section]:
    """The public methods and properties of a class that fourbar defines, with their docstrings."""
    from ..functions.registry import METHODS

    for name in dir(kind):
        member = inspect.getattr_static(kind, name)
        function = inspect.unwrap(getattr(member, "fget", None) or getattr(member, "__func__", member))
        is_ours = str(getattr(function, "__module__", "")).startswith("fourbar.") and not isinstance(member, type)
        if is_ours and not name.startswith("_") and name not in METHODS and member.__doc__:
            yield _api_section(f"{called}.{name}", member.__doc__)


def _api_section(place: str, doc: str | None) -> Section:
    return Section(place, "API", place, inspect.cleandoc(doc or ""))


def _pattern(words: Sequence[str]) -> re.Pattern[str]:
    """Any of the words, at the beginning of a word or of a part of a name."""
    return re.compile("|".join(rf"(?<![^\W_]){_any_spacing(word)}" for word in words), re.IGNORECASE)


def _any_spacing(word: str) -> str:
    """A word, or several in quotation marks, as a regular expression: "warm start" is also "warm-start"."""
    return r"[\s-]+".join(map(re.escape, re.split(r"[\s-]+", word)))


def search(sections: Sequence[Section], words: Sequence[str]) -> list[Section]:
    """The sections that have all the words, the best first."""
    scored = []
    for section in sections:
        parts = [_score(section, _pattern([word])) * _likeness(section, word) for word in words]
        if all(parts):
            scored.append((sum(parts), section))
    return [section for _, section in sorted(scored, key=lambda x: -x[0])]


def _likeness(section: Section, word: str) -> float:
    """1 where a section has the word itself or its plural, less where it has only longer words: fold, folders."""
    whole = rf"(?<![^\W_]){_any_spacing(word)}(?:e?s)?(?![^\W_])"
    return 1.0 if re.search(whole, f"{section.heading}\n{section.text}", re.IGNORECASE) else _LONGER


def _score(section: Section, pattern: re.Pattern[str]) -> float:
    """How much a section is about a word; zero where the word is in neither heading nor text."""
    in_heading, in_text = pattern.search(section.heading), len(pattern.findall(section.text))
    if not in_heading and not in_text:
        return 0.0
    density = min(in_text, _MOST_IN_TEXT) + min(in_text, _MOST_IN_TEXT) * 40.0 / (40.0 + len(section.text.splitlines()))
    whole = 3.0 if in_heading and in_heading[0].lower() == section.heading.lower() else 0.0
    in_code = any(pattern.search(x) for x in re.findall(r"`([^`\n]+)`", section.text))
    in_title = pattern.search(section.title) is not None
    is_page = 2.0 if section.title != "API" else 0.0
    return density + whole + is_page + _IN_HEADING * bool(in_heading) + _IN_TITLE * in_title + _IN_CODE * in_code


def _guess(sections: Sequence[Section], words: Sequence[str]) -> str:
    """Words of the pages that are written alike, frequent ones first."""
    texts = (f"{section.heading} {section.text}".lower() for section in sections)
    count = Counter(word for text in texts for word in re.findall(r"[a-z]{3,}", text))
    known = [word for word, times in count.items() if times > 1]
    alike = [x for word in words if word.lower() not in count for x in get_close_matches(word.lower(), known, n=3)]
    likely = sorted(dict.fromkeys(alike), key=lambda x: -count[x])[:2]
    return f"; did you mean {' or '.join(likely)}?" if likely else ". `fourbar docs` lists the pages"


def _excerpt(section: Section, words: Sequence[str]) -> str:
    """Where a section is, its heading, and two lines of the passage that has most of the words."""
    width, pattern = min(shutil.get_terminal_size().columns, 120) - 4, _pattern(words)
    passages = list(_passages(section.text))
    best = max(passages, key=lambda x: len({m.lower() for m in pattern.findall(x)}), default="")
    match = pattern.search(best)
    begin = max(0, best.rfind(". ", 0, match.start()) + 2) if match and ". " in best[: match.start()] else 0
    excerpt = textwrap.wrap(best[begin:], width, max_lines=2, placeholder=" ...")
    title = section.heading if section.heading == section.title else f"{section.title} › {section.heading}"
    head = _bold(section.place) if section.title == "API" else f"{_bold(section.place)}  {title}"
    return "\n".join([head, *(f"    {pattern.sub(lambda m: _bold(m[0]), line)}" for line in excerpt)])


def _passages(text: str) -> Iterator[str]:
    """Paragraphs of prose as one line each; then, one by one, rows of tables and lines of code."""
    single: list[str] = []
    for part in re.split(r"(```.*?```|\n\s*\n)", text, flags=re.DOTALL):
        lines = [line.strip() for line in part.splitlines() if re.search(r"\w", line)]
        if part.startswith("```") or any(line.startswith("|") for line in lines):
            single += [line.strip("| ") for line in lines if not line.startswith("```")]
        elif lines:
            yield " ".join(lines)
    yield from single


def _bold(text: str) -> str:
    """Bold on a terminal."""
    return f"\x1b[1m{text}\x1b[0m" if sys.stdout.isatty() else text


def _contents() -> str:
    """The pages with their titles and first sentences."""
    rows = {name: summary(text) for name, text in pages().items()}
    width = max(map(len, rows))
    wide = max(40, min(shutil.get_terminal_size().columns, 120) - width - 2)
    lines = []
    for name, (title, sentence) in rows.items():
        (line,) = textwrap.wrap(f"{title}. {sentence}", wide, max_lines=1, placeholder=" ...")
        lines.append(f"{_bold(name.ljust(width))}  {line}")
    return "\n".join([*lines, "", "fourbar docs WORD ... searches them, fourbar docs --read PAGE prints one"])


def summary(text: str) -> tuple[str, str]:
    """The title of a page and the first sentence of its prose."""
    title = re.search(r"^# (.+)$", text, re.MULTILINE)
    words = re.sub(r"```.*?```|<!--.*?-->", "", text, flags=re.DOTALL)
    prose = re.sub(r"^#.*$|^\|.*$|^!\[.*$", "", words, flags=re.MULTILINE).strip()
    first = re.split(r"(?<=\.)\s", " ".join(prose.split("\n\n")[0].split()), maxsplit=1)[0]
    return (title[1] if title else ""), re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", first)


def list_for_programs(ending: str) -> str:
    """llms.txt: the pages with their titles and first sentences, for readers that are programs; links end as given."""
    rows = {name: summary(text) for name, text in pages().items()}
    about = "Dynamics of articulated rigid bodies whose joints may form loops, compiled to machine code by tracing."
    lines = ["# fourbar", "", f"> {about}", "", "## Pages", ""]
    lines += [f"- [{title}]({name}{ending}): {sentence}" for name, (title, sentence) in rows.items()]
    hint = "`fourbar docs WORD` and `help(robot.forward_dynamics)` have the API: arguments, shapes, units, examples."
    return "\n".join([*lines, "", "## API", "", hint, ""])


def _read(place: str) -> str:
    """The text of a page, of a section, or of a name of the API."""
    name, _, section = place.removesuffix(".md").partition("#")
    if name.startswith(("robot.", "fb.", "Builder.", "Batch.")):
        texts = {x.place: f"{x.heading}\n\n{x.text}" for x in _names()}
        if name not in texts:
            raise unknown("name", name, texts)
        return texts[name]
    texts_of_pages = pages()
    if name not in texts_of_pages:
        raise unknown("page", name, texts_of_pages)
    if not section:
        return texts_of_pages[name].rstrip()
    parts = {x.place: f"## {x.heading}\n\n{x.text}" for x in page_sections() if x.place.startswith(f"{name}#")}
    if place not in parts:
        raise unknown("section", place, parts)
    return parts[place]
