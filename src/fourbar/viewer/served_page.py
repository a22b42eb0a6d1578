"""A page in the browser, served on this machine: what is drawn, with switches for its layers. Uses viser. `LivePage`
shows the states of a simulation as they are computed.

Colours for a page whose renderer maps light by the ACES film curve, which darkens and saturates them.

`PageGuard` says from which sites, and under which names, a served page may be used. Browsers let any site open a
WebSocket to this machine, and a name server may point a foreign name here (DNS rebinding). So each request is judged by
two headers: Host, the name under which the page was opened, and Origin, the site whose script opens a WebSocket, which
must be the page itself.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from html import escape
from io import StringIO
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

import numpy as np

from ..arrays import to_count
from ..errors import ArgumentError, FourbarError, require_library
from . import look, triangles
from .drawing import Drawing, Item
from .legend import Entry, legend
from .look import FIELD, eye_and_middle
from .mesh_files import Colour, linear
from .recorded_motion import RecordedMotion, quaternions
from .terrain_surfaces import is_flat
from .triangles import TriangleSurface

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
            raise ArgumentError(_refusal(name))
        split = _split(name if "://" in name else f"//{name}")
        if split is None or not split.hostname or split.path.strip("/") or (split.scheme not in ("", *_PORTS)):
            raise ArgumentError(_refusal(name))
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

        def guard(connection: Any, request: Any) -> Any:
            headers = request.headers
            hosts, upgrade = headers.get_all("Host"), headers.get("Upgrade") is not None
            origins = headers.get_all("Origin") if upgrade else []
            if len(hosts) > 1 or len(origins) > 1:
                return connection.respond(403, "The page is not shown: a header is there twice.\n")
            reason = self.judge(hosts[0] if hosts else None, origins[0] if origins else None)
            return connection.respond(403, f"The page is not shown: {reason}\n") if reason else serve_file(
                connection, request)  # fmt: skip

        return guard

    @contextmanager
    def install(self) -> Iterator[None]:
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


def _refusal(name: Any) -> str:
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


# The fit of the curve by S. Hill that three.js uses: linear light to its own primaries, a curve, and back.
_IN = np.array([[0.59719, 0.35458, 0.04823], [0.076, 0.90834, 0.01566], [0.0284, 0.13383, 0.83777]]) / 0.6
_OUT = np.array([[1.60475, -0.53108, -0.07367], [-0.10208, 1.10813, -0.00605], [-0.00327, -0.07276, 1.07602]])
_LIT, _WANTED = 0.85, 0.9  # light on a surface in the sun: there, and with the lights of the pages


def aces(light: np.ndarray) -> np.ndarray:
    """Light (3) as the screen shows it, both linear."""
    v = _IN @ light
    return _OUT @ ((v * (v + 0.0245786) - 0.000090537) / (v * (0.983729 * v + 0.432951) + 0.238081))


def paint(colour: Colour) -> tuple[int, ...]:
    """The colour (3 bytes, linear) with which a surface looks there as one of a given colour does on the pages."""
    w = np.clip(np.linalg.solve(_OUT, _WANTED * np.array([linear(x) for x in colour[:3]])), 0.0, 0.97)
    a, b, c = 1.0 - 0.983729 * w, 0.0245786 - 0.432951 * w, -0.000090537 - 0.238081 * w
    light = np.linalg.solve(_IN, (np.sqrt(b * b - 4.0 * a * c) - b) / (2.0 * a)) / _LIT
    return tuple(np.round(255.0 * light.clip(0.0, 1.0)).astype(int).tolist())


LOCAL = "127.0.0.1"
_CALLED = {
    "shapes": "shapes", "collision": "collision shapes", "frames": "frames", "axes": "joint axes",
    "mass": "centres of mass", "inertia": "inertia ellipsoids", "ground": "ground", "forces": "contact forces",
}  # fmt: skip
_SHOWN = ("shapes", "ground")
_SKY, _SUN = 2.0, 3.6  # strength of the light from all sides, and of the sun
_FAR = 40.0  # sizes of the robot: as far as is seen, and as shadows are computed
_GRID = 60  # tiles along each side of a floor without an end of its own
ROOT = "/scene"  # the frame of all that is drawn: the scene moves where the camera follows a robot
_LINE, _FLOOR = (tuple(round(255.0 * x) for x in colour) for colour in (look.LINE, look.FLOOR))


def viser_module() -> Any:
    """The library that serves the page."""
    return require_library("viser", "view", "the viewer")


def _check_host(host: Any) -> None:
    """Refuse an address that is not of this machine: viser would try all ports, for ever."""
    try:
        family, kind, _, _, (name, *_) = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as tried:
            tried.bind((name, 0))
    except (OSError, TypeError, UnicodeError) as error:
        raise ArgumentError(
            f"host={host!r} cannot be served from this machine ({error}); expected {LOCAL!r}, this machine only, or "
            "'0.0.0.0', its network too"
        ) from None


def _start(host: str, port: Any, title: str, allow: Any) -> tuple[Any, PageGuard]:
    """A server whose page only this machine and what the user allowed may use."""
    if to_count(port, 0) is None or port > 65535:
        raise ArgumentError(f"port={port!r}: expected a whole number from 0 to 65535")
    viser = viser_module()
    _check_host(host)
    guard = PageGuard(host, allow)
    with redirect_stdout(StringIO()), guard.install():  # it prints its address, which `view` does
        server = viser.ViserServer(host=host, port=int(port), label=title, verbose=False)
    try:
        check_guarded(host, server.get_port())
    except (OSError, FourbarError):
        with redirect_stdout(StringIO()):
            server.stop()
        raise
    _forbid_sharing(server)
    return server, guard


def _forbid_sharing(server: Any) -> None:
    """Ignore those who look at the page and ask for a public address: that is the user's to decide."""
    from viser import _messages

    for message in (_messages.ShareUrlRequest, _messages.ShareUrlDisconnect):
        server._websock_server.unregister_handler(message)


class DrawnGroup(NamedTuple):
    """Items with the same surface and opacity, which are drawn together, and what draws them."""

    handle: Any
    layer: str
    items: tuple[Item, ...]


class ServedPage:
    """A page with a drawing in one world or many."""

    def __init__(
        self,
        drawing: Drawing,
        worlds: int,
        bounds: np.ndarray,
        address: tuple[str, int],
        title: str,
        allow: Any = (),
    ) -> None:
        self.drawing, self.worlds, self.bounds = drawing, worlds, bounds
        self.server, self.guard = _start(*address, title, allow)
        self.gui, self.scene = self.server.gui, self.server.scene
        self.gui.configure_theme(show_logo=False, show_share_button=False)
        self.gui.main_panel.dock_right()
        self.scene.set_up_direction("+z")
        self._root = self.scene.add_frame(ROOT, show_axes=False)
        self._light()
        self._aim(bounds)
        self.shown: set[str] = {*_SHOWN, "forces"}
        floors = [x for x in drawing.items if is_flat(x)]
        self.groups = self._add([x for x in drawing.items if not is_flat(x)])
        self._floors = [self._floor(k, x) for k, x in enumerate(floors)]
        self._last: np.ndarray | None = None
        self._legend: tuple[Any, Sequence[Entry]] | None = None
        if "ground" not in drawing.layers:
            middle = bounds.mean(axis=0)
            below = np.array([middle[0], middle[1], look.below(bounds)])
            self._grid("grid", below, np.eye(3), look.tile(drawing.size), 0.0, 0.5 * _GRID * look.tile(drawing.size))

    @property
    def url(self) -> str:
        """The address of the page."""
        host = self.server.get_host()
        return f"http://{'localhost' if host in (LOCAL, '0.0.0.0') else host}:{self.server.get_port()}"

    def _light(self) -> None:
        """Sky and sun of the pages, without an environment map, which takes software WebGL 20 s to prepare."""
        rise = np.linspace(0.45, -2.0, 96).clip(0.0)[:, None]  # the camera looks down: little of the sky is seen
        sky = rise * look.SKY + (1.0 - rise) * look.HORIZON
        self.scene.set_background_image(np.tile((255.0 * sky + 0.5).astype(np.uint8)[:, None], (1, 2, 1)), format="png")
        self.scene.configure_environment_map(None)
        self.scene.configure_default_lights(enabled=False)
        self.scene.add_light_hemisphere("/sky", sky_color=(255, 255, 255), ground_color=(150, 150, 150), intensity=_SKY)
        self.scene.add_light_directional("/sun", intensity=_SUN, cast_shadow=True, position=look.SUN)

    def _aim(self, bounds: np.ndarray) -> None:
        eye, middle = eye_and_middle(bounds, self.drawing.bounds)
        camera = self.server.initial_camera
        camera.up, camera.position, camera.look_at = (0.0, 0.0, 1.0), tuple(eye.tolist()), tuple(middle.tolist())
        camera.fov = FIELD
        size = float(np.linalg.norm(bounds[1] - bounds[0]))
        camera.near, camera.far = 0.01 * size, _FAR * size

    def reset_view(self) -> None:
        """Move the cameras of all who look at the page to where they were at the start."""
        for client in self.server.get_clients().values():
            eye, middle = eye_and_middle(self.bounds, self.drawing.bounds)
            with client.atomic():
                client.camera.position = eye  # which moves the point that is looked at along
                client.camera.look_at = middle

    def stop(self) -> None:
        """Serve the page no longer."""
        with redirect_stdout(StringIO()):
            self.server.stop()

    def follow(self, shift: np.ndarray) -> None:
        """Let the cameras of all who look go along with a robot that has moved by a vector (3) since the start."""
        self._root.position = tuple((-shift).tolist())

    def _floor(self, number: int, item: Item) -> Any:
        """A floor that is a plane, with a grid on it."""
        T, solid = item.placement, item.solid
        corners = solid.vertices.astype(float) @ T[:3, :3].T + T[:3, 3]
        R = triangles.pointing(T[:3, :3] @ solid.normals[0].astype(float), np.zeros(3))[:3, :3]
        half = 0.5 * float(np.ptp((corners - corners.mean(axis=0)) @ R, axis=0).max())
        return self._grid(f"floor/{number}", corners.mean(axis=0), R, item.tile, 1.0, half)

    def _grid(self, name: str, at: np.ndarray, R: np.ndarray, edge: float, opacity: float, half: float) -> Any:
        """A square of lines on which shadows fall, as on the pages; `edge` of its tiles and `half` its own edge (m)."""
        along = R.T @ at
        along[:2] -= np.mod(along[:2], look.STRONG * edge)  # so that lines go through the origin of the world
        return self.scene.add_grid(
            f"{ROOT}/{name}", width=2.0 * half, height=2.0 * half, cell_size=edge, section_size=look.STRONG * edge,
            cell_thickness=0.7, section_thickness=1.0, cell_color=_LINE, section_color=_LINE, position=R @ along,
            wxyz=quaternions(R), shadow_opacity=look.SHADE, plane_color=_FLOOR, plane_opacity=opacity,
            fade_distance=half, fade_from="origin", infinite_grid=False,
        )  # fmt: skip

    def _add(self, items: Sequence[Item], prefix: str = "") -> list[DrawnGroup]:
        """Items as groups that are drawn together."""
        sets: dict[tuple[int, str, float], list[Item]] = {}
        for item in items:
            sets.setdefault((id(item.solid), item.layer, item.colour[3]), []).append(item)
        return [
            DrawnGroup(
                self.add(
                    f"{prefix}{layer}/{n}",
                    own[0].solid,
                    [x.colour for x in own for _ in range(self._count(x))],
                    layer in self.shown,
                ),
                layer,
                tuple(own),
            )
            for n, ((_, layer, _), own) in enumerate(sets.items())
        ]

    def _count(self, item: Item) -> int:
        """Number of copies of an item: one per world, or one if it does not move."""
        return 1 if item.place == self.drawing.world else self.worlds

    def add(self, name: str, solid: TriangleSurface, colours: list[Colour], visible: bool) -> Any:
        """A surface that is drawn once per colour, at poses that are given later.

        Only the ground receives shadows: a surface with two sides would cast one on itself, and look grey all over.
        """
        ground = name.startswith("ground")
        n, opacity = len(colours), colours[0][3]
        turns = np.tile(np.array([1.0, 0.0, 0.0, 0.0], np.float32), (n, 1))
        return self.scene.add_batched_meshes_simple(
            f"{ROOT}/{name}", vertices=solid.vertices, faces=solid.faces, batched_wxyzs=turns,
            batched_positions=np.zeros((n, 3), np.float32), batched_scales=np.ones((n, 3), np.float32),
            batched_colors=np.array([paint(c) for c in colours], np.uint8),
            opacity=None if opacity >= 1.0 else opacity, lod="off", side="double", visible=visible,
            cast_shadow=opacity >= 1.0 and not ground, receive_shadow=ground,
        )  # fmt: skip

    def place(self, places: np.ndarray, every: bool = False) -> None:
        """Move everything that is shown (or all of it) to places (worlds, n, 4, 4)."""
        self._last = places
        with self.server.atomic():
            for group in self.groups:
                if every or group.layer in self.shown:
                    self._place(group, places)

    def _place(self, group: DrawnGroup, places: np.ndarray) -> None:
        if group.items:
            put(group.handle, np.concatenate([places[: self._count(x), x.place] @ x.placement for x in group.items]))

    def show(self, layer: str, on: bool) -> None:
        """Show a layer, or hide it."""
        (self.shown.add if on else self.shown.discard)(layer)
        if on and layer == "collision" and self.drawing.unread is not None:  # their meshes are read now
            items, _ = self.drawing.unread()
            self.drawing = replace(self.drawing, items=(*self.drawing.items, *items), unread=None)
            self.groups += self._add(items, f"{layer}/late/")
        for group in self.groups:
            if group.layer == layer:
                if on and self._last is not None:
                    self._place(group, self._last)
                group.handle.visible = on
        for handle in self._floors if layer == "ground" else ():
            handle.visible = on
        self._write_legend()

    def switches(self, entries: Sequence[Entry], more: Sequence[str] = ()) -> None:
        """A button that resets the view, a switch per layer, those of `more` included, and a legend."""
        self.gui.add_button("reset view").on_click(lambda _: self.reset_view())
        with self.gui.add_folder("show"):
            for layer in (*self.drawing.layers, *more):
                self.switch(_CALLED[layer], layer in self.shown, lambda on, layer=layer: self.show(layer, on))
        self._legend = self.gui.add_html(""), entries
        self._write_legend()

    def _write_legend(self) -> None:
        """Write the meaning of the colours of visible layers."""
        if self._legend is not None:
            box, entries = self._legend
            box.content = "".join(_legend_line(x) for x in entries if x.layer in self.shown)

    def switch(self, label: str, on: bool, done: Callable[[bool], None]) -> Any:
        """A switch that calls a function with its new state."""
        box = self.gui.add_checkbox(label, on)
        box.on_update(lambda _: done(bool(box.value)))
        return box


def _legend_line(entry: Entry) -> str:
    """A line of a legend, as HTML."""
    colour = ",".join(str(round(255.0 * x)) for x in entry.colour[:3])
    mark = (
        f"display:inline-block;width:0.8em;height:0.8em;border-radius:2px;margin-right:0.5em;background:rgb({colour})"
    )
    return f'<div style="font-size:0.85em;padding:0.1em 1em"><span style="{mark}"></span>{escape(entry.text)}</div>'


def put(handle: Any, T: np.ndarray, scales: np.ndarray | None = None) -> None:
    """Move repeated items to poses (n, 4, 4), with sizes (n, 3)."""
    handle.batched_positions = T[:, :3, 3].astype(np.float32)
    handle.batched_wxyzs = quaternions(T[:, :3, :3]).astype(np.float32)
    if scales is not None:
        handle.batched_scales = scales.astype(np.float32)


_APART = 1.5  # sizes of the robot between worlds


class LivePage:
    """A page with worlds side by side, whose camera follows the base of a single one that moves freely."""

    def __init__(self, recording: RecordedMotion, port: int = 8080, browser: bool = True) -> None:
        """`recording` holds the first states twice, (2, worlds, nq)."""
        apart = _APART * recording.drawing().size if recording.worlds > 1 else 0.0
        self.recording = recording = replace(recording, spread=apart)
        drawing = recording.drawing()
        address, title = (LOCAL, port), recording.robot.name
        self.window = ServedPage(drawing, recording.worlds, recording.bounds(drawing), address, title)
        self.window.switches(legend(recording, drawing))
        self._follows = recording.worlds == 1 and recording.follows(True)
        self._due = time.monotonic()
        if browser:
            webbrowser.open(self.window.url)

    def show(self, q: np.ndarray, period: float) -> None:
        """Show configurations (worlds, nq), `period` (s) after those before, or as soon as they are there."""
        states = np.stack([self.recording.q[0], q[: self.recording.worlds]])
        now = replace(self.recording, q=states)
        self.window.place(now.places(self.window.drawing, slice(1, 2))[0])
        if self._follows:
            self.window.follow(now.base_shift(1))
        self._due = max(self._due + period, time.monotonic())
        time.sleep(max(0.0, self._due - time.monotonic()))

    def stop(self) -> None:
        """Close the page."""
        self.window.stop()
