"""Looking into a robot: its equations, its programs, and what they are compiled to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ..errors import ArgumentError, unknown
from ..functions.attributes import OptionedMethod
from ..functions.model import Model
from ..functions.registry import METHODS
from ..representation import abbreviate, html_table

if TYPE_CHECKING:
    from .equations import Equations

T = TypeVar("T")


class ByName(Mapping[str, T]):
    """Things of one kind by name, read-only; an unknown name raises an error with the nearest known ones."""

    def __init__(self, kind: str, items: Mapping[str, T]) -> None:
        self._kind, self._items = kind, dict(items)

    def __getitem__(self, name: str) -> T:
        if name not in self._items:
            raise unknown(self._kind, name, self._items)
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return repr(self._items)


class Names(NamedTuple):
    """Names of all parts of a robot, in the order of the arrays.

    Parameters
    ----------
    bodies : tuple of str
        Bodies, as in `f_ext` and `poses`.
    joints : tuple of str
        All joints, fixed ones and those of loops too.
    frames : tuple of str
        Named frames.
    coordinates : tuple of str
        Coordinates, as in q.
    velocities : tuple of str
        Velocities, as in v, a and tau.
    parameters : tuple of str
        Parameters, as in `System.inertial_parameters`.
    numbers : tuple of str
        Numbers that may vary: `parameters=` of derivatives, `System.varying`, `numbers=` of rollouts.
    actuators : tuple of str
        Actuators, as in u.
    activations : tuple of str
        State of the actuators, as in act: the activations of those with dynamics, then, as "servo.1", "servo.2", ...,
        controls that wait for their delay, the oldest first.

    Examples
    --------
    >>> import fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> robot.names.velocities
    ('shoulder', 'elbow')
    """

    bodies: tuple[str, ...]
    joints: tuple[str, ...]
    frames: tuple[str, ...]
    coordinates: tuple[str, ...]
    velocities: tuple[str, ...]
    parameters: tuple[str, ...]
    numbers: tuple[str, ...]
    actuators: tuple[str, ...]
    activations: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<fourbar Names: {', '.join(f'{len(names)} {kind}' for kind, names in self._asdict().items())}>"

    def _repr_html_(self) -> str:
        rows = ((kind, len(names), abbreviate(names)) for kind, names in self._asdict().items())
        return html_table("fourbar Names", ("of", "number", "names"), rows)


class Inspected:
    """The computations of a robot as formulas, programs and machine code."""

    model: Model
    names: Names

    def equations(self, symbols: bool = False, simplify: bool = True) -> Equations:
        """Equations of motion as SymPy expressions, for small mechanisms.

        Parameters
        ----------
        symbols : bool, default False
            Make symbols of masses, centres of mass, inertias, positions of joints, armatures, gravity and numbers of
            loops too. Zeros stay zeros; within loops, places stay numbers.
        simplify : bool, default True
            Simplify as far as that is quick.

        Returns
        -------
        Equations
            M(q), C(q, v), g(q) and τ, with LaTeX and plain Python.

        Raises
        ------
        ArgumentError
            If the formulas would be too long to be of use.

        Notes
        -----
        Needs SymPy: ``pip install ".[sympy]"``.

        Examples
        --------
        >>> import fourbar as fb
        >>> b = fb.Builder("slide", gravity=(0, 0, 0))
        >>> robot = b.body("block", joint=fb.joints.Prismatic("x"), mass=2.0).build()
        >>> robot.equations().M
        Matrix([[2]])
        """
        from .equations import make_equations

        return make_equations(self.model, self.names, symbols, simplify)

    def graphviz(self, what: str = "bodies") -> str:
        """Connectivity graph or tree of clusters in the DOT language of Graphviz.

        Parameters
        ----------
        what : {'bodies', 'clusters'}, default 'bodies'
            'bodies': bodies, joints between them, and loops as dashed edges; a box around each cluster that loops tie.
            'clusters': the tree of clusters, with an edge from each body that carries a cluster.

        Returns
        -------
        str
            The text; ``dot -Tsvg robot.gv`` draws it. No package is needed to write it.

        Raises
        ------
        ArgumentError
            If `what` is neither.

        See Also
        --------
        plot_tree : The same graphs drawn by matplotlib.

        Examples
        --------
        >>> import fourbar as fb
        >>> print(fb.robots.four_bar().graphviz().splitlines()[-2].strip())  # doctest: +ELLIPSIS
        "link2" -> "link3" [style=dashed, dir=none, color="#346ab2", constraint=false, ...
        """
        from .program_text import GRAPHS, graph_text

        if what not in GRAPHS:
            raise ArgumentError(f"graphviz: what={what!r}: expected {' or '.join(map(repr, GRAPHS))}")
        return graph_text(self, what)

    def show(self, method: str, stage: str = "program", **options: Any) -> str:
        """The program or machine code of a method, as text.

        Parameters
        ----------
        method : str
            Name of a method, such as 'forward_dynamics'.
        stage : {'program', 'llvm', 'asm'}, default 'program'
            The traced program, the intermediate representation of LLVM, or assembly.
        **options : object
            Options of the method, such as frame='tip'.

        Returns
        -------
        str
            The text.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> print(robot.show("kinetic_energy")[:16])
        program kinetic_
        """
        from .program_text import STAGES

        if method not in METHODS:
            raise unknown("method", method, METHODS)
        if stage not in STAGES:
            raise ArgumentError(f"stage={stage!r}: expected one of {', '.join(STAGES)}")
        return STAGES[stage](self.program(method, **options))

    def program(self, method: str, **options: Any) -> Any:
        """Program of a method: what is compiled.

        Parameters
        ----------
        method : str
            Name of a method, such as 'forward_dynamics'.
        **options : object
            Options of the method, such as frame='tip'.

        Returns
        -------
        Program
            Inputs, outputs, and blocks of scalar operations.

        Examples
        --------
        >>> import fourbar as fb
        >>> robot = fb.robots.double_pendulum()
        >>> [x.name for x in robot.program("forward_dynamics").inputs]
        ['q', 'v', 'tau']
        """
        made = getattr(self, method)
        return (made.specialise(**options) if isinstance(made, OptionedMethod) else made).program()
