"""Elements of an XML document that know their line, and which parts of them were read.

What a reader did not ask for is reported at the end by `leftovers`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from typing import NoReturn

from .numbers import NotANumber, read_number, read_numbers
from .report import Place, Reading, names_any

_REQUIRED = object()
_OF_XML = ("xmlns", "xml:", "xsi:")  # attributes that say nothing about the model: namespaces and schemas


class Element:
    """An element: tag, attributes, children, text, line. Reading an attribute or a child marks it as understood."""

    __slots__ = ("_read", "attributes", "children", "line", "parent", "reading", "tag", "text")

    def __init__(
        self, tag: str, attributes: dict[str, str], parent: Element | None, line: int, reading: Reading
    ) -> None:
        self.tag = tag
        self.attributes = attributes
        self.children: list[Element] = []
        self.text = ""
        self.parent = parent
        self.line = line
        self.reading = reading
        self._read: set[str] | None = None  # names of what was read: "@name", "tag", "" for the text, "*" for all

    def __repr__(self) -> str:
        return f"<{self.path} at line {self.line}>"

    @property
    def path(self) -> str:
        """The path from the root, with names: robot/link 'arm'/inertial."""
        steps: list[str] = []
        at: Element | None = self
        while at is not None:
            name = at.attributes.get("name")
            steps.append(f"{at.tag} {name[:60]!r}" if name else at.tag)
            at = at.parent
        return "/".join(reversed(steps))

    @property
    def key(self) -> str:
        """The path from below the root, without names: link/inertial. The key for `waive=`."""
        steps: list[str] = []
        at: Element | None = self
        while at is not None and (at.parent is not None or not steps):
            steps.append(at.tag)
            at = at.parent
        return "/".join(reversed(steps))

    @property
    def place(self) -> Place:
        """Its place, for findings."""
        return Place(self.reading.file, self.line, self.path)

    def fail(self, message: str, fix: str = "") -> NoReturn:
        """Refuse this element."""
        self.reading.fail(self.place, message, fix)

    def mark(self, *names: str) -> None:
        """Mark these as understood: "tag" of children, "@attribute", "" the text, "*" everything inside."""
        if self._read is None:
            self._read = set()
        self._read.update(names)

    def is_read(self, name: str) -> bool:
        """Whether a child's tag, "@attribute" or "" (the text) was read."""
        return self._read is not None and (name in self._read or "*" in self._read)

    @property
    def read_names(self) -> frozenset[str]:
        """All that was asked for: tags of children and "@attribute"s."""
        return frozenset(self._read or ())

    # --- attributes ---------------------------------------------------------------------------------------------------

    def get(self, name: str) -> str | None:
        """An attribute as text, None if absent."""
        self.mark("@" + name)
        return self.attributes.get(name)

    def require(self, name: str) -> str:
        """A required, non-empty attribute."""
        text = self.get(name)
        if text is None or not text.strip():
            state = "is missing" if text is None else "is empty"
            self.fail(f"attribute {name!r} {state}", f'write <{self.tag} {name}="...">')
        return text

    def number(self, name: str, default: float | object = _REQUIRED) -> float:
        """An attribute that is one finite number."""
        return self.numbers(name, 1, default if default is _REQUIRED else (default,))[0]  # type: ignore[arg-type]

    def numbers(self, name: str, count: int, default: tuple[float, ...] | object = _REQUIRED) -> tuple[float, ...]:
        """An attribute that consists of `count` finite numbers, separated by spaces."""
        text = self.get(name)
        if text is None:
            if default is _REQUIRED:
                wanted = "a number" if count == 1 else f"{count} numbers"
                self.fail(f"attribute {name!r} is missing", f'write <{self.tag} {name}="..."> with {wanted}')
            return default  # type: ignore[return-value]
        return self._numbers(text, count, f"{name}={text[:60]!r}")

    def flag(self, name: str, default: bool) -> bool:
        """An attribute that is true or false."""
        text = self.get(name)
        return default if text is None else self._truth(text, f"{name}={text[:60]!r}")

    # --- text ---------------------------------------------------------------------------------------------------------

    def words(self) -> str:
        """The text between the tags, stripped."""
        self.mark("")
        return self.text.strip()

    def text_number(self) -> float:
        """The text as one finite number."""
        return self._numbers(self.words(), 1, "its text")[0]

    def text_numbers(self, count: int) -> tuple[float, ...]:
        """The text as `count` finite numbers."""
        return self._numbers(self.words(), count, "its text")

    def text_flag(self) -> bool:
        """The text as true or false."""
        return self._truth(self.words(), repr(self.words()[:60]))

    def _truth(self, text: str, what: str) -> bool:
        word = text.strip().lower()
        if word not in ("true", "false", "1", "0"):
            self.fail(f"{what}: expected true or false")
        return word in ("true", "1")

    def _numbers(self, text: str, count: int, what: str) -> tuple[float, ...]:
        try:
            return (read_number(text),) if count == 1 else read_numbers(text, count)
        except NotANumber as error:
            wanted = "one finite decimal number" if count == 1 else f"{count} finite decimal numbers"
            self.fail(f"{what}: {error}", f"expected {wanted}")

    # --- children -----------------------------------------------------------------------------------------------------

    def child(self, tag: str) -> Element | None:
        """The only child with that tag, None if absent; two are refused, or the first is used if that is waived."""
        found = self.all(tag)
        if len(found) > 1:
            self._judge_second(found[0], found[1:])
        return found[0] if found else None

    def _judge_second(self, first: Element, others: list[Element]) -> None:
        second, said = others[0], f"a second <{first.tag}>; the first"
        if not self.reading.is_waived(second.key):
            fix = f"remove one of them; or use the first with waive=[{second.key!r}]"
            message = f"{said} is at line {first.line}, and only one is allowed"
            self.reading.fail(second.place, message, fix, second.key)
        for extra in others:
            extra.mark("*")
        self.reading.note(second.place, f"{said}, at line {first.line}, is used (waived)", key=second.key)

    def require_child(self, tag: str) -> Element:
        """The only child with that tag, required."""
        found = self.child(tag)
        if found is None:
            self.fail(f"<{tag}> is missing")
        return found

    def all(self, tag: str) -> list[Element]:
        """All children with that tag."""
        self.mark(tag)
        return [c for c in self.children if c.tag == tag]


def leftovers(root: Element) -> Iterator[tuple[Element, str]]:
    """All that was not read: (element, "") for an element, (element, name) for an attribute, or "text" for its text."""
    stack = [root]
    while stack:
        element = stack.pop()
        if element.is_read("*"):
            continue
        for name in element.attributes:
            if not element.is_read("@" + name) and not name.startswith(_OF_XML):
                yield element, "@" + name
        if element.text.strip() and not element.is_read(""):
            yield element, "text"
        for child in element.children:
            if element.is_read(child.tag):
                stack.append(child)
            else:
                yield child, ""


def report_leftovers(
    root: Element,
    matters: Iterable[str] = (),
    fixes: Mapping[str, str] | None = None,
    others: Mapping[str, str] | None = None,
) -> None:
    """A finding for all that was not read.

    `matters`: keys (paths below the root, such as "inertial/*" or "joint@*", patterns) that would change the dynamics.
    An element whose tag is nearly one that was asked for matters too. `fixes`: what to do, by key. `others`: patterns
    of keys that belong to other programs, and what to say about them; these are notes.
    """
    judge = _Judge(tuple(matters), dict(fixes or {}), dict(others or {}))
    for n, (element, what) in enumerate(leftovers(root)):
        if n >= MOST or judge.kinds > MOST_KINDS:
            many = f"{MOST}" if n >= MOST else f"{MOST_KINDS} different"
            root.fail(f"more than {many} elements and attributes are not understood", "is this the right format?")
        judge.report(element, what)


MOST, MOST_KINDS = 10_000, 500  # things that are not understood, and different ones


class _Judge:
    """Decides what an unread thing means. Things of one kind are alike, so that each kind is examined once."""

    def __init__(self, matters: tuple[str, ...], fixes: dict[str, str], others: dict[str, str]) -> None:
        self._fixes = fixes
        self._changes = cache(lambda key: names_any(matters, key))
        self._other = cache(lambda key: next((said for x, said in others.items() if names_any((x,), key)), ""))
        self._close = cache(lambda word, asked: next(iter(get_close_matches(word[:60], asked, 1, 0.8)), ""))

    @property
    def kinds(self) -> int:
        """The number of different things examined."""
        return self._close.cache_info().currsize

    def report(self, element: Element, what: str) -> None:
        """A finding about an element, an attribute of it ("@name"), or its text ("text")."""
        key = element.key + (what if what.startswith("@") else "")
        changes, near = self._changes(key), self._near(element, what)
        said = "" if changes or near else self._other(key)
        if said:
            whose = f"attribute {what[1:][:60]!r}: " if what.startswith("@") else ""
            element.reading.note(element.place, whose + said, key=key)
            return
        fix = f"did you mean {near!r}?" if near else self._fixes.get(key, "")
        report = element.reading.doubt if changes or (near and not what) else element.reading.warn
        report(element.place, _describe(element, what), fix, key)

    def _near(self, element: Element, what: str) -> str:
        """The tag or attribute with a similar spelling that was asked for here."""
        if what == "text":
            return ""
        owner, word = (element, what) if what else (element.parent or element, element.tag)
        asked = frozenset(name for name in owner.read_names if name.startswith("@") == word.startswith("@"))
        return self._close(word, asked).removeprefix("@")


def _describe(element: Element, what: str) -> str:
    if what.startswith("@"):
        return f"attribute {what[1:][:60]}={element.attributes[what[1:]][:60]!r} is not understood"
    return f"the text {element.text.strip()[:60]!r} is not understood" if what else f"<{element.tag}> is not understood"
