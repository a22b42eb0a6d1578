"""Who may use a served page: raw handshakes with foreign sites and names. Needs viser."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

import fourbar as fb
from fourbar.viewer import served_page
from fourbar.viewer.served_page import PageGuard


@pytest.fixture(scope="module")
def shown() -> Iterator[fb.View]:
    pytest.importorskip("viser", reason="viser is not installed: the extra 'view'")
    page = fb.view(
        fb.robots.double_pendulum(), browser=False, port=0, allow=["https://robot.example.org", "lab.example"]
    )
    yield page
    page.stop()


def status(page: fb.View, *headers: str, upgrade: bool = True) -> int:
    """The status of the answer to a request with such headers: 101 opens a WebSocket."""
    lines = ["GET / HTTP/1.1", *headers]
    if upgrade:
        lines += ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                  "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="]  # fmt: skip
    with socket.create_connection(("127.0.0.1", page.window.server.get_port()), timeout=20) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        return int(connection.recv(16).split()[1])


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("localhost:{port}", "http://localhost:{port}"),
        ("127.0.0.1:{port}", "http://127.0.0.1:{port}"),
        ("LOCALHOST:{port}", "http://localhost:{port}"),
        ("localhost:9000", "http://localhost:9000"),  # ssh -L 9000:localhost:8080
        ("[::1]:9000", "http://[::1]:9000"),
        ("localhost:{port}", None),  # no browser
        ("robot.example.org", "https://robot.example.org"),  # a proxy that keeps the name
        ("localhost:{port}", "https://robot.example.org"),  # a proxy that does not
        ("lab.example:81", "http://lab.example:81"),
        ("localhost", "http://lab.example:1234"),
    ],
)
def test_the_page_itself_and_what_was_allowed_may_open_a_websocket(
    shown: fb.View, host: str, origin: str | None
) -> None:
    port = shown.window.server.get_port()
    headers = [f"Host: {host.format(port=port)}"] + ([f"Origin: {origin.format(port=port)}"] if origin else [])
    assert status(shown, *headers) == 101
    assert status(shown, *headers, upgrade=False) == 200


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("localhost:{port}", "https://evil.example"),
        ("localhost:{port}", "null"),  # a file, a sandboxed frame
        ("localhost:{port}", "http://localhost:3000"),  # another server of this machine
        ("localhost:{port}", "https://localhost:{port}.evil.example"),
        ("localhost:{port}", "http://user@localhost:{port}"),
        ("localhost:{port}", "http://robot.example.org"),  # allowed by https only
        ("localhost:{port}", ""),
        ("evil.example:{port}", "http://evil.example:{port}"),  # a foreign name that points to this machine
        ("evil.example", None),
        ("", None),
        ("localhost.evil.example", "http://localhost.evil.example"),
        ("10.0.0.7:{port}", "http://10.0.0.7:{port}"),  # served to this machine only
    ],
)
def test_scripts_of_other_sites_and_foreign_names_are_refused(shown: fb.View, host: str, origin: str | None) -> None:
    port = shown.window.server.get_port()
    headers = [f"Host: {host.format(port=port)}"] + ([] if origin is None else [f"Origin: {origin.format(port=port)}"])
    assert status(shown, *headers) == 403
    if "localhost:" not in host:
        assert status(shown, *headers, upgrade=False) == 403


def test_two_origins_or_two_hosts_are_refused(shown: fb.View) -> None:
    own = f"localhost:{shown.window.server.get_port()}"
    site = f"Origin: http://{own}"
    assert status(shown, f"Host: {own}", site, "Origin: https://evil.example") in (400, 403)
    assert status(shown, f"Host: {own}", "Host: evil.example", site) in (400, 403)


def test_a_name_may_be_allowed_later(shown: fb.View) -> None:
    headers = ("Host: x1.share.example", "Origin: https://x1.share.example")
    assert status(shown, *headers) == 403
    shown.allow("https://x1.share.example/")
    assert status(shown, *headers) == 101
    assert status(shown, "Host: x1.share.example", "Origin: https://x2.share.example") == 403


@pytest.mark.parametrize("name", ["", "*", "*.example.org", "a b", "ftp://x.org", "https://x.org/page", 3, "http://[x"])
def test_no_name_is_refused(name: Any) -> None:
    with pytest.raises(fb.ArgumentError, match="allow="):
        PageGuard("127.0.0.1", [name])


def test_a_page_for_the_network_is_opened_by_addresses_and_own_names() -> None:
    guard = PageGuard("0.0.0.0")
    own = socket.gethostname()
    for host in ("192.168.1.5:8080", f"{own}:8080", f"{own}.local:8080", "localhost:8080"):
        assert guard.judge(host, f"http://{host}") == ""
        assert "evil" in guard.judge(host, "http://evil.example")
    assert "evil" in guard.judge("evil.example:8080", "http://evil.example:8080")


def test_a_server_that_is_not_guarded_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Should a later viser start its server in another way."""
    pytest.importorskip("viser", reason="viser is not installed: the extra 'view'")
    monkeypatch.setattr(served_page.PageGuard, "answer", lambda guard, serve_file: serve_file)
    with pytest.raises(fb.FourbarError, match="other sites"):
        fb.view(fb.robots.double_pendulum(), browser=False, port=0)


def test_those_who_look_cannot_ask_for_a_public_address(shown: fb.View) -> None:
    from viser import _messages

    known = shown.window.server._websock_server._incoming_handlers
    assert _messages.ShareUrlRequest not in known and _messages.ShareUrlDisconnect not in known
