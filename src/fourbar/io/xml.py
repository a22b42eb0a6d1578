"""Strict XML: no document type, no entities but those of XML itself, no network access, bounds on size and depth."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from typing import NoReturn
from xml.parsers import expat

from .element import Element
from .report import ParseError, Place, Reading
from .source import LARGEST, Source, too_large

DEEPEST = 100  # nesting depth of elements
MOST = 200_000  # elements per file
MOST_ATTRIBUTES = 1000  # per element; programs that read the file after us may take quadratic time for them
LONGEST = 1_000_000  # characters per attribute, or per text of an element
_SAVE_AS = "save the file as UTF-8"
_HTML, _RAW = "this is a web page (HTML), not a model file", "download the raw file"
_OPENING = re.compile(rb"<!--|<!\[CDATA\[")
_XML = re.compile(rb"<\?xml\s[^<>]{0,200}\?>")
_MISPLACED = expat.errors.codes[expat.errors.XML_ERROR_MISPLACED_XML_PI]
_DECLARATION = (_MISPLACED, expat.errors.codes[expat.errors.XML_ERROR_XML_DECL])
_CLOSING = re.compile(rb"</([^\s<>/]{1,60})\s*>")
_TO_THE_TOP = 'write <?xml version="1.0"?> before comments and whitespace, or leave it out'
_UTF_32 = (b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")


def parse(source: Source, reading: Reading, deepest: int = DEEPEST) -> Element:
    """The root element of a document; raises ParseError with the line of what is wrong."""
    if len(source.data) > LARGEST:
        raise too_large(source.name)
    _check_encoding(source, reading)
    builder = _TreeBuilder(source, reading, deepest)
    parser = builder.parser
    try:
        parser.Parse(source.data, True)
    except ParseError:
        raise
    except expat.ExpatError as error:
        data = _repair(source, error, reading)
        if data != source.data:
            return parse(replace(source, data=data), reading, deepest)
        reading.fail(Place(source.name, error.lineno), *_explain(error, builder, source))
    except (LookupError, UnicodeError, ValueError) as error:  # an encoding unknown to Python, or broken text
        reading.fail(Place(source.name, parser.CurrentLineNumber), f"the text cannot be decoded: {error}", _SAVE_AS)
    assert builder.root is not None
    return builder.root


class _TreeBuilder:
    """The handlers of expat."""

    def __init__(self, source: Source, reading: Reading, deepest: int) -> None:
        self.source, self.reading, self.deepest = source, reading, deepest
        self.root: Element | None = None
        self.open: list[Element] = []
        self.count = 0
        self.text: list[str] = []  # since the last tag
        self.length = 0  # of the text of the element that is open
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters
        self.parser.StartDoctypeDeclHandler = self.doctype

    def refuse(self, message: str, fix: str = "") -> NoReturn:
        """Stop at the parser's line."""
        path = self.open[-1].path if 0 < len(self.open) <= DEEPEST else ""
        self.reading.fail(Place(self.source.name, self.parser.CurrentLineNumber, path), message, fix)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """An element begins."""
        self.keep_text()
        self.count, self.length = self.count + 1, 0
        if len(self.open) >= self.deepest:
            self.refuse(f"elements are nested deeper than {self.deepest}")
        if self.count > MOST:
            self.refuse(f"the file has more than {MOST} elements")
        if len(attributes) > MOST_ATTRIBUTES:
            self.refuse(f"<{tag[:60]}> has more than {MOST_ATTRIBUTES} attributes")
        for name, value in attributes.items():
            if len(value) > LONGEST:
                self.refuse(f"attribute {name[:60]!r} of <{tag[:60]}> has more than {LONGEST} characters")
        parent = self.open[-1] if self.open else None
        if parent is None and tag.lower() == "html":
            self.refuse(_HTML, _RAW)
        element = Element(tag, attributes, parent, self.parser.CurrentLineNumber, self.reading)
        if parent is None:
            self.root = element
        else:
            parent.children.append(element)
        self.open.append(element)

    def end(self, tag: str) -> None:
        """An element ends."""
        self.keep_text()
        self.open.pop()
        self.length = len(self.open[-1].text) if self.open else 0

    def characters(self, text: str) -> None:
        """Text between tags."""
        if text.strip() or self.text:
            self.length += len(text)
            if self.length > LONGEST:
                self.refuse(f"the text of <{self.open[-1].tag[:60]}> has more than {LONGEST} characters")
            self.text.append(text)

    def keep_text(self) -> None:
        """Give the text since the last tag to the element that it is in."""
        if self.text:
            self.open[-1].text += "".join(self.text)
            self.text.clear()
            self.length = len(self.open[-1].text)

    def doctype(self, name: str, *_: object) -> None:
        """A document type, which could declare entities."""
        if name.lower() == "html":
            self.refuse(_HTML, _RAW)
        self.refuse("a DOCTYPE (and the entities it may declare) is not allowed", "remove it")


def _check_encoding(source: Source, reading: Reading) -> None:
    """Explain a wrong encoding, which expat would call an invalid token."""
    data = source.data
    if not data.strip():
        reading.fail(Place(source.name), "the file is empty")
    if data.startswith(b"version https://git-lfs"):
        reading.fail(Place(source.name, 1), "this is a Git LFS pointer, not the file itself", "git lfs pull")
    if data.startswith(_UTF_32):
        reading.fail(Place(source.name, 1), "the file is UTF-32, which XML parsers do not support", _SAVE_AS)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return
    zero = data.find(b"\x00")
    if zero >= 0:
        line = data.count(b"\n", 0, zero) + 1
        reading.fail(Place(source.name, line), "the file contains a zero byte: it is not text, or UTF-16", _SAVE_AS)
    declaration = data[:200].split(b"?>")[0].lower() if data.lstrip(b"\xef\xbb\xbf").startswith(b"<?xml") else b""
    if b"encoding" not in declaration or b"utf-8" in declaration:
        _ = source.text


def _repair(source: Source, error: expat.ExpatError, reading: Reading) -> bytes:
    """The document without a violation of XML that changes nothing in a model, which is noted; else as it is."""
    if error.code in _DECLARATION:
        data = _without_declarations(source.data)
        if data != source.data:
            what = "is not the first thing in the file" if error.code == _MISPLACED else "is not well-formed"
            message = f"<?xml ...?> {what}; it was ignored"
            reading.note(Place(source.name, error.lineno), message, _TO_THE_TOP, "xml")
        return data
    data, line = _with_plain_comments(source.data)
    if data != source.data:
        message = "a comment has -- inside, which XML does not allow; the file was read anyway"
        reading.note(Place(source.name, line), message, "write - instead", "comment")
    return data


def _without_declarations(data: bytes) -> bytes:
    """The document with spaces for XML declarations, unless one names an encoding that it would be read differently
    without.
    """
    found = _XML.findall(data)
    if any(b"encoding" in x.lower() and b"utf-8" not in x.lower() for x in found):
        return data
    return _XML.sub(lambda x: re.sub(rb"[^\n]", b" ", x[0]), data)


def _with_plain_comments(data: bytes) -> tuple[bytes, int]:
    """The document with spaces for hyphens inside its comments, otherwise unchanged; the line of the first comment that
    changes, 0 if none does.
    """
    pieces: list[bytes] = []
    done = first = 0
    while opening := _OPENING.search(data, done):
        begin, is_comment = opening.end(), opening[0] == b"<!--"
        end = data.find(b"-->" if is_comment else b"]]>", begin)
        if end < 0:  # searched once: each further opening would search the whole rest again
            break
        inside = data[begin:end]
        if is_comment and (b"--" in inside or inside.endswith(b"-")):
            first = first or data.count(b"\n", 0, begin) + 1
            inside = inside.replace(b"-", b" ")
        pieces += data[done:begin], inside
        done = end
    return b"".join((*pieces, data[done:])), first


def _explain(error: expat.ExpatError, builder: _TreeBuilder, source: Source) -> tuple[str, str]:
    """expat's message, explained where that helps."""
    what = expat.ErrorString(error.code) or "not XML"
    opened = builder.open[-1] if builder.open else None
    inside = f" inside <{opened.tag}>, which opens at line {opened.line}" if opened else ""
    if error.code == expat.errors.codes[expat.errors.XML_ERROR_NO_ELEMENTS]:
        if builder.root is None and opened is None:
            return "the document has no element", ""
        return f"the file ends{inside}", "it is cut off, or an element is not closed"
    if error.code == expat.errors.codes[expat.errors.XML_ERROR_UNDEFINED_ENTITY]:
        return "an entity that XML does not define", "write the character itself"
    if error.code == _MISPLACED:
        return "<?xml ...?> is not the first thing in the file", _TO_THE_TOP
    if not source.data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return "this is not XML: it does not begin with <", ""
    at = builder.parser.ErrorByteIndex
    closing = _CLOSING.match(source.data, max(source.data.rfind(b"<", 0, at + 1), 0))
    if closing and at <= closing.start() + 2:
        return _explain_closing(closing[1].decode("utf-8", "replace"), what, opened, inside, builder)
    return f"not well-formed XML: {what}{inside}", ""


def _explain_closing(
    tag: str, what: str, opened: Element | None, inside: str, builder: _TreeBuilder
) -> tuple[str, str]:
    """A closing tag that closes nothing, or not the element that is open; `inside`: where it is, in words."""
    if opened is None:
        root = f", for <{builder.root.tag}> was closed before" if builder.root else ""
        return f"not well-formed XML: </{tag}> closes nothing{root}", "remove it, or open what it closes"
    message = f"not well-formed XML: {what}: </{tag}>{inside}"
    if any(element.tag == tag for element in builder.open):
        return message, f"close <{opened.tag}> before"
    return message, f"remove </{tag}>, or write </{opened.tag}>: no <{tag}> is open"


def root_tag(data: bytes) -> str:
    """The tag of the first element of a document, empty where it cannot be found, or a DOCTYPE comes first."""
    begin = data[: 2**20]
    complete = len(data) <= 2**20
    return _first_tag(begin, complete) or _first_tag(_with_plain_comments(_without_declarations(begin))[0], complete)


def _first_tag(data: bytes, complete: bool) -> str:
    tags: list[str] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        tags.append(tag)
        raise StopIteration

    def doctype(*_: object) -> None:  # attributes of the root may use the entities that it declares
        raise StopIteration

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.StartDoctypeDeclHandler = doctype
    with suppress(StopIteration, expat.ExpatError, LookupError, UnicodeError, ValueError):
        parser.Parse(data, complete)
    return tags[0] if tags else ""
