"""Looking into a robot: its equations, its programs, and what they are compiled to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError, unknown
from ..functions.attributes import OptionedMethod
from ..functions.model import Model
from ..functions.registry import METHODS
from .names import Names

if TYPE_CHECKING:
    from .equations import Equations


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
        from .graph_text import GRAPHS, graph_text

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
