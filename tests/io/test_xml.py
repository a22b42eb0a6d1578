"""The strict XML reader: lines, what was read and what was not, and what is refused."""

from __future__ import annotations

import re
import time

import pytest

from fourbar.io.element import Element, leftovers, report_leftovers
from fourbar.io.report import ParseError, Place, Reading, Report
from fourbar.io.source import Source
from fourbar.io.xml import DEEPEST, LONGEST, MOST_ATTRIBUTES, parse, root_tag


def read(text: str | bytes, **options: object) -> Element:
    data = text.encode() if isinstance(text, str) else text
    return parse(Source("a.xml", data), Reading("a.xml", **options))  # type: ignore[arg-type]


def refused(text: str | bytes) -> str:
    with pytest.raises(ParseError) as caught:
        read(text)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<a>\n<b></c></b></a>", r":2: .*mismatched tag: </c> inside <b>, which opens at line 2.*no <c> is open"),
        ("<a>\n<b>\n</a>", r":3: .*</a> inside <b>, which opens at line 2.*close <b> before"),
        ("<mujoco>\n</mujoco>\n</worldbody>\n", r":3: .*</worldbody> closes nothing, for <mujoco> was closed before"),
        ("<sdf></sdf></sdf>", r":1: .*</sdf> closes nothing"),
        ("</sdf>", r":1: .*</sdf> closes nothing"),
    ],
)
def test_closing_tags_that_close_nothing_are_named(text: str, message: str) -> None:
    assert re.search(message, refused(text), re.DOTALL)


def test_elements_have_lines_and_paths() -> None:
    root = read("<robot name='r'>\n  <link name='arm'>\n    <inertial/></link></robot>")
    inertial = root.all("link")[0].require_child("inertial")
    assert (inertial.line, inertial.path, inertial.key) == (3, "robot 'r'/link 'arm'/inertial", "link/inertial")
    assert root.key == "robot"


def test_text_is_joined_over_lines_and_entities() -> None:
    assert read("<a>\n one &lt; two\n <b/> three</a>").words() == "one < two\n  three"


@pytest.mark.parametrize(
    "text, expected",
    [
        ("1", 1.0), (" -2.5e-3 ", -2.5e-3), (".5", 0.5), ("3.", 3.0), ("+1E+2", 100.0), ("007", 7.0), ("-0", 0.0),
    ],
)  # fmt: skip
def test_numbers(text: str, expected: float) -> None:
    assert read(f"<a x='{text}'/>").number("x") == expected


@pytest.mark.parametrize(
    "text, reason",
    [
        ("1,5", "has a comma"), ("", "it is empty"), ("nan", "not finite"), ("-Inf", "not finite"), ("1e999", "large"),
        ("0x10", "hexadecimal"), ("1_000", "not a decimal"), ("one", "not a decimal"), ("1 2", "more than one"),
        ("${x}", "xacro"), ("１", "not a decimal"), ("1e", "not a decimal"), ("--1", "not a decimal"),
        ("1" * 500, "than 400"), ("1d3", "not a decimal"), ("infinity", "not finite"),
    ],
)  # fmt: skip
def test_what_is_no_number_is_refused(text: str, reason: str) -> None:
    root = read(f"<a>\n<b x='{text}'/></a>")
    with pytest.raises(ParseError, match=rf"^a\.xml:2: .*{reason}"):
        root.require_child("b").number("x")


@pytest.mark.parametrize("text", ["1 2", "1 2 3 4", "", "1,2,3", "1, 2, 3", "1 2 x"])
def test_three_numbers_are_three(text: str) -> None:
    with pytest.raises(ParseError, match=r"^a\.xml:1: a: x="):
        read(f"<a x='{text}'/>").numbers("x", 3)


def test_missing_things_are_named() -> None:
    root = read("<a name='n'>\n<b/>\n<b flag='maybe'/></a>")
    for ask, message in [
        (lambda: root.child("b"), "a.xml:3: .*second <b>; the first is at line 2"),
        (lambda: root.require_child("c"), "a.xml:1: .*<c> is missing"),
        (lambda: root.require("x"), "a.xml:1: .*'x' is missing"),
        (lambda: root.children[0].number("x"), "a.xml:2: .*'x' is missing"),
        (lambda: root.children[1].flag("flag", False), "a.xml:3: .*expected true or false"),
    ]:
        with pytest.raises(ParseError, match=message):
            ask()


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "a.xml: the file is empty"),
        ("hello", "a.xml:1: this is not XML"),
        ("<a>", "a.xml:1: the file ends inside <a>, which opens at line 1"),
        ("<a>\n<b>\n", "a.xml:3: the file ends inside <b>, which opens at line 2"),
        ("<a>\n<b></a>", "a.xml:2: not well-formed XML: mismatched tag: </a> inside <b>"),
        ("<a x='1' x='2'/>", "a.xml:1: not well-formed XML: duplicate attribute"),
        ("<a/><b/>", "a.xml:1: not well-formed XML: junk after document element"),
        ("<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>", "a.xml:1: a DOCTYPE"),
        ("<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>", "a.xml:1: a DOCTYPE"),
        ("<a>\n&nbsp;</a>", "a.xml:2: an entity that XML does not define"),
        (b"<a>\n\xe9</a>", "a.xml:2: byte 0xe9 is not UTF-8; save the file as UTF-8"),
        (b"<a>\n\x00</a>", "a.xml:2: the file contains a zero byte"),
        ("<a/>".encode("utf-32"), "a.xml:1: the file is UTF-32"),
        (b"<?xml version='1.0' encoding='klingon'?><a/>", "a.xml:1: .*"),
        (b"<?xml version='1.0' encoding='utf-16'?><a/>", "a.xml:1: .*"),
        ("<a>" * (DEEPEST + 5), f"a.xml:1: .*nested deeper than {DEEPEST}"),
        ("<a " + " ".join(f"x{i}=''" for i in range(MOST_ATTRIBUTES + 1)) + "/>", "a.xml:1: <a> has more than 1000"),
        (f"<a x='{'y' * (LONGEST + 1)}'/>", "a.xml:1: attribute 'x' of <a> has more than"),
    ],
)
def test_what_is_no_document_is_refused(text: str | bytes, message: str) -> None:
    assert re.match(message, refused(text)), refused(text)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1", "cp1252"])
def test_other_encodings_are_read(encoding: str) -> None:
    declared = {"utf-8-sig": "utf-8"}.get(encoding, encoding)
    data = f"<?xml version='1.0' encoding='{declared}'?><a x='é'/>".encode(encoding)
    assert read(data).get("x") == "é"


def test_what_was_not_read_is_left_over() -> None:
    root = read("<r name='n'><a x='1' y='2'>text</a><b><c/></b><d><e/></d></r>")
    root.get("name")
    root.require_child("a").get("x")
    root.require_child("d").mark("*")
    found = [(e.key, what) for e, what in leftovers(root)]
    assert sorted(found) == [("a", "@y"), ("a", "text"), ("b", "")]


def test_policy() -> None:
    def judged(**options: object) -> list[tuple[str, str]]:
        root = read("<r><a y='2'/>\n<b/></r>", **options)
        root.all("a")
        report_leftovers(root, matters=["b"])
        return [(f.severity, f.key) for f in root.reading.findings]

    assert judged() == [("error", "b"), ("warning", "a@y")]
    assert judged(strict=True) == [("error", "b"), ("error", "a@y")]
    assert judged(waive=["b"]) == [("note", "b"), ("warning", "a@y")]
    assert judged(strict=True, waive=["b", "a@*"]) == [("note", "b"), ("note", "a@y")]


def test_what_other_programs_read_is_noted() -> None:
    root = read("<r><a/>\n<gz/><b><gz y='2'/></b></r>", strict=True)
    root.all("b")
    report_leftovers(root, matters=["a"], others={"gz": "for another program", "a": "never"})
    found = [(f.severity, f.key, f.message) for f in root.reading.report()]
    assert found[0][:2] == ("error", "a")
    assert found[1:] == [("note", "gz", "for another program"), ("note", "b/gz", "for another program")]


def test_reports_are_printed_grouped() -> None:
    reading = Reading("models/a.xml")
    for n in range(1, 111):
        reading.note(Place("models/a.xml", n, "r/gz"), "for another program", key="gz")
    reading.warn(Place("models/parts/b.xml", 4, "r/a"), "a is heavy", "lift it", "a")
    reading.warn(Place("models/parts/b.xml", 5, "r/a"), "a is light", "", "a")
    reading.note(Place("elsewhere/c.xml", 7, "r/b"), "alone")
    report = reading.report()
    assert str(report).splitlines() == [
        "parts/b.xml:4: warning: a: 2 elements, the first of them: a is heavy; lift it",
        "a.xml:1: note: gz: 110 elements: for another program",
        "elsewhere/c.xml:7: note: r/b: alone",
    ]
    assert len(report.details().splitlines()) == 113 == len(report)
    assert "models/a.xml:110: note: r/gz: for another program" in report.details()
    assert str(Report()) == Report().details() == "nothing to report"
    assert len(report.notes) == 111 and len(list(report.lines(grouped=("note",)))) == 4


def test_errors_of_elements_are_collected() -> None:
    root = read("<r>\n<a x='1'/>\n<a x='b'/>\n<a x='c'/></r>")
    for a in root.all("a"):
        with root.reading.element():
            a.number("x")
    with pytest.raises(ParseError) as caught:
        root.reading.close()
    assert [f.line for f in caught.value.report.errors] == [3, 4]
    assert str(caught.value).count("\n") == 1


@pytest.mark.parametrize("opening", ["<!-- ", "<![CDATA[ ", "<!-- -- --><![CDATA[ "])
def test_openings_without_an_end_are_refused_in_time_that_grows_with_the_file(opening: str) -> None:
    begin = time.process_time()
    assert re.search("not well-formed|characters", refused("<robot>" + opening * 200_000 + "</robot>"))
    assert time.process_time() - begin < 2.0


def test_hyphens_inside_comments_are_read() -> None:
    text = "<!-- top -- of it -->\n<r>\n<!-- a -- b\n --- c --->\n<a><![CDATA[<!-- x -- y -->]]></a><!--- b ---></r>"
    root = read(text)
    assert [c.tag for c in root.children] == ["a"] and root.children[0].line == 5
    assert root.children[0].words() == "<!-- x -- y -->"
    [note] = root.reading.findings
    assert (note.severity, note.line, note.key) == ("note", 1, "comment") and "--" in note.message
    assert root_tag(text.encode()) == "r"
    assert "not well-formed" in refused("<r><!-- a -- b --><a></r>")


@pytest.mark.parametrize(
    "begin, line, words",
    [
        ('\n<?xml version="1.0"?>', 2, "not the first thing"),
        ("<!-- a --><?xml version='1.0' encoding='UTF-8' ?>\n", 1, "not the first thing"),
        ('<?xml vertsion="1.0"?>', 1, "not well-formed"),
        ("\n" + '<?xml version="1.0"?>\n' * 5000 + "<!-- a -- b -->", 2, "not the first thing"),
    ],
)
def test_declarations_in_the_wrong_place_are_ignored(begin: str, line: int, words: str) -> None:
    """Lines stay what they are."""
    root = read(text := f"{begin}<r>\n<a/></r>")
    assert root.children[0].line == begin.count("\n") + 2 and root_tag(text.encode()) == "r"
    note = root.reading.findings[0]
    assert (note.severity, note.line, note.key) == ("note", line, "xml")
    assert words in note.message and "ignored" in note.message


def test_a_declaration_that_names_another_encoding_is_not_ignored() -> None:
    assert "not the first thing in the file; write" in refused("\n<?xml version='1.0' encoding='latin-1'?><r/>")


def test_namespaces_and_schemas_are_no_findings() -> None:
    root = read("<a xmlns:xsi='i' xsi:schemaLocation='s' xml:space='preserve' x='1'/>")
    assert [what for _, what in leftovers(root)] == ["@x"]


@pytest.mark.parametrize("piece", ["word ", "a&amp;", "word \n"])
def test_long_texts_are_refused(piece: str) -> None:
    assert f"the text of <r> has more than {LONGEST} characters" in refused(f"<r>{piece * 1_000_000}</r>")
    assert "the text of <r>" in refused("<r>" + (piece * 1000 + "<a/>") * 1000 + "</r>")
    assert len(read(f"<r>{'x' * 1000}<a>y</a>{'x' * 1000}</r>").text) == 2000


@pytest.mark.parametrize("many", ["".join(f"<a{i}x/>" for i in range(1000)), "<b/>\n" * 20_000])
def test_not_everything_can_be_not_understood(many: str) -> None:
    root = read(f"<r>{many}</r>")
    with pytest.raises(ParseError, match=r"more than .* are not understood"):
        report_leftovers(root)


def test_after_many_errors_no_more_are_read() -> None:
    root = read("<r>" + "<a/>\n" * 2000 + "</r>")
    with pytest.raises(ParseError, match="and 991 more errors"):
        for a in root.all("a"):
            with root.reading.element():
                a.number("x")


def test_root_tag() -> None:
    assert root_tag(b"<?xml version='1.0'?><!-- x --><mujoco model='m'>") == "mujoco"
    assert root_tag(b"{}") == root_tag(b"") == ""
    assert root_tag(b"<!DOCTYPE a [<!ENTITY x 'y'>]><a b='&x;'/>") == ""
