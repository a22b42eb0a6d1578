"""Checks the docstrings of all that is public, by the rules of numpydoc:  python docs/check_docstrings.py

Every public function says what it takes and returns, in order, and has an example; every class what its constructor
takes. What only needs a summary (robots of the library, functions of scalars, errors) is checked for that.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from typing import Any

from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate
from public import Entry, sections

# Not asked for: a second paragraph (ES01), See Also everywhere (SA01), an unnamed single result (RT02), summaries that
# begin with a verb (SS05: a method here is called what it returns), and capitals before a formula (PR08, RT04, SA03).
IGNORED = {"ES01", "SA01", "RT02", "SS05", "PR08", "RT04", "SA03"}
SUMMARY_ONLY = ("GL", "SS")
EXAMPLES = ("System.", "Builder.")  # classes each of whose methods needs one; that of others is in the class


def _returning() -> Any:
    return 0


def _silent() -> None:
    pass


def stand_in(entry: Entry) -> Any:
    """A function with the docstring and the signature of a public name, which is what numpydoc looks at."""
    source = _silent if entry.silent or entry.kind in ("class", "property") else _returning

    def named() -> Any: ...

    copy = type(named)(source.__code__, {}, entry.name.rpartition(".")[2])
    copy.__doc__ = (
        "\n".join(["", *(f"    {line}".rstrip() for line in entry.doc.split("\n")), "    "]) if entry.doc else None
    )
    copy.__signature__ = entry.signature or inspect.Signature()  # type: ignore[attr-defined]
    copy.__module__ = __name__
    return copy


def needs_example(entry: Entry) -> bool:
    """Whether a public name has to show how it is used."""
    return entry.kind != "property" and (entry.kind != "method" or entry.name.startswith(EXAMPLES))


def faults(entry: Entry) -> Iterator[str]:
    """What is wrong with the docstring of a public name."""
    for code, message in validate(get_doc_object(stand_in(entry)))["errors"]:
        if code in IGNORED or (entry.brief and not code.startswith(SUMMARY_ONLY)):
            continue
        if code == "EX01" and not needs_example(entry):
            continue
        yield f"{entry.name}: {code} {message}"


def main() -> int:
    """Print all faults; 1 if there are any."""
    entries = [entry for section in sections() for entry in section.entries]
    found = [fault for entry in entries for fault in faults(entry)]
    print(*found, sep="\n", end="\n" if found else "")
    print(f"{len(entries)} public names, {len(found)} faults in their docstrings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
