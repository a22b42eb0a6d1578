"""`PageGuard`: from which sites, and under which names, a served page may be used.

Browsers let any site open a WebSocket to this machine, and a name server may point a foreign name here (DNS rebinding).
So each request is judged by two headers: Host, the name under which the page was opened, and Origin, the site whose
script opens a WebSocket, which must be the page itself.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import SplitResult, urlsplit

from ..errors import ArgumentError, FourbarError

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_PORTS = {"http": 80, "https": 443}
_FOREIGN = "https://foreign.invalid"  # a site that no user can allow by accident: the domain is reserved
_SECONDS = 20.0
_exchanged = threading.Lock()  # while the server of a page is constructed


class PageGuard:
    """The names of a page: those of this machine, and what the user allowed.

    A name stands for itself at any port. An address (https://...) stands for its name, and for itself as a site.
    """

    def __init__(self, host: str, allowed: Any = ()) -> None:
        self.names = {*_LOOPBACK, host.lower()}
        self.sites: set[tuple[str, str, int | None]] = set()
        self.public = not _is_loopback(host)
        if self.public:
            own = socket.gethostname().lower()
            self.names |= {own, f"{own}.local", socket.getfqdn().lower()}
        for name in [allowed] if isinstance(allowed, str) else list(allowed):
            self.allow(name)

    def allow(self, name: Any) -> None:
        """Allow a name (robot.example.org) or an address (https://robot.example.org)."""
        if not isinstance(name, str) or not name or any(x.isspace() or x == "*" for x in name):
            raise ArgumentError(_refused(name))
        split = _split(name if "://" in name else f"//{name}")
        if split is None or not split.hostname or split.path.strip("/") or (split.scheme not in ("", *_PORTS)):
            raise ArgumentError(_refused(name))
        self.names.add(_name(split))
        if split.scheme:
            self.sites.add(_site(split))
        else:
            self.sites |= {(scheme, _name(split), None) for scheme in _PORTS}

    def judge(self, host: str | None, origin: str | None) -> str:
        """The reason why a request with such headers is refused; empty if it is not.

        Programs that are no browsers send no Origin: what runs on this machine may look.
        """
        opened = _split(f"//{host or ''}")
        if opened is None or not self._is_own(opened):
            shown = "none" if opened is None or not opened.hostname else repr(_name(opened))
            return f"the page was opened under the name {shown}, which is not one of this machine. {_ADVICE}"
        if origin is None:
            return ""
        site = _split(origin)
        if site is not None and site.scheme in _PORTS and self._is_same(opened, site):
            return ""
        return f"a script of the site {origin!r} asked, which is not this page. {_ADVICE}"

    def _is_own(self, opened: SplitResult) -> bool:
        """Whether a page was opened under a name of this machine. No name server can redirect a numeric address."""
        return _name(opened) in self.names or (self.public and _is_address(_name(opened)))

    def _is_same(self, opened: SplitResult, site: SplitResult) -> bool:
        """Whether a site is the page itself, behind whatever ports are forwarded, or was allowed."""
        scheme, name, port = _site(site)
        if self.sites & {(scheme, name, port), (scheme, name, None)}:
            return True
        return name == _name(opened) and port == (opened.port or _PORTS[scheme])

    def answer(self, serve_file: Callable[..., Any]) -> Callable[..., Any]:
        """A function that answers requests as another does, but for those that are refused."""

        def guarded(connection: Any, request: Any) -> Any:
            headers = request.headers
            hosts, upgrade = headers.get_all("Host"), headers.get("Upgrade") is not None
            origins = headers.get_all("Origin") if upgrade else []
            if len(hosts) > 1 or len(origins) > 1:
                return connection.respond(403, "The page is not shown: a header is there twice.\n")
            reason = self.judge(hosts[0] if hosts else None, origins[0] if origins else None)
            return connection.respond(403, f"The page is not shown: {reason}\n") if reason else serve_file(
                connection, request)  # fmt: skip

        return guarded

    @contextmanager
    def installed(self) -> Iterator[None]:
        """While this lasts, servers that viser starts are guarded. `check` says whether one is."""
        import websockets.asyncio.server as library

        original: Any = library.serve

        def serve(handler: Any, *args: Any, **options: Any) -> Any:
            if str(getattr(handler, "__module__", "")).partition(".")[0] == "viser":
                options["process_request"] = self.answer(options["process_request"])
            return original(handler, *args, **options)

        with _exchanged:
            library.serve = serve
            try:
                yield
            finally:
                library.serve = original


_ADVICE = "Allow it: fb.view(..., allow=[name or address]), or on the command line --allow"


def _refused(name: Any) -> str:
    return f"allow={name!r}: expected a name (robot.example.org) or the address of a site (https://robot.example.org)"


def _split(address: str) -> SplitResult | None:
    """The parts of an address, None if it is none."""
    try:
        split = urlsplit(address)
        _ = split.port
    except ValueError:
        return None
    return None if split.username is not None or split.password is not None else split


def _name(split: SplitResult) -> str:
    return (split.hostname or "").rstrip(".").lower()


def _site(split: SplitResult) -> tuple[str, str, int]:
    return split.scheme, _name(split), split.port or _PORTS[split.scheme]


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_loopback(host: str) -> bool:
    return host.lower() == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def check_guarded(host: str, port: int) -> None:
    """Open a WebSocket as a foreign site would, and raise if the server lets it in."""
    address = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    lines = (
        "GET / HTTP/1.1", f"Host: localhost:{port}", "Upgrade: websocket", "Connection: Upgrade",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Version: 13", f"Origin: {_FOREIGN}", "", "",
    )  # fmt: skip
    with socket.create_connection((address, port), timeout=_SECONDS) as connection:
        connection.sendall("\r\n".join(lines).encode())
        answer = connection.recv(64)
    if b" 403 " not in answer:
        raise FourbarError(
            "the page is not served: this version of viser lets pages of other sites read and move the robot; "
            "install viser 1.1"
        )
