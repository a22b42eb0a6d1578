"""Kim's Tables 2, 4, 5 and 7 in NumPy, one sample at a time: dynamics of trees and their derivatives by a scalar p.

Table 6 is Table 7 with no joint prescribed. Ad* goes with X = Ad of T⁻¹ everywhere, where print lost or gained an
inverse. Of the library only what joints and bodies are is used: placements, S and S°, whose derivatives are complex
steps.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from fourbar import System
from tests.algorithms.oracle import armature_force

STEP = 1e-30


def hat(a: Any) -> np.ndarray:
    x, y, z = a
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def ad(V: np.ndarray) -> np.ndarray:
    return np.block([[hat(V[:3]), np.zeros((3, 3))], [hat(V[3:]), hat(V[:3])]])


def Ad_inverse(T: np.ndarray) -> np.ndarray:
    """Ad of T⁻¹."""
    R, p = T[:3, :3], T[:3, 3]
    return np.block([[R.T, np.zeros((3, 3))], [-R.T @ hat(p), R.T]])


def pose(R: Any, p: Any) -> np.ndarray:
    T = np.eye(4, dtype=complex)
    T[:3, :3], T[:3, 3] = R, p
    return T


def inertia(mass: float, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The spatial inertia of m, m c, and the rotational inertia at the origin."""
    return np.block([[second, hat(first)], [hat(first).T, mass * np.eye(3)]])


class Link:
    """A body at a state, with derivatives (names in d...) along a direction."""

    def __init__(self, c: Any, q: np.ndarray, v: np.ndarray, a: np.ndarray, tau: np.ndarray) -> None:
        """Every vector is complex: the imaginary part is STEP times its derivative."""
        fixed = pose(c.placement.rotation, c.placement.position)
        moved = c.joint.placement(list(q))
        T = fixed @ pose(moved.R, moved.p)
        S = np.array([s.six() for s in c.joint.subspace(list(q)).twists()], complex).reshape(-1, 6).T
        Sdot = np.array([s.six() for s in c.joint.subspace_rate(list(q), list(v))], complex).reshape(-1, 6).T
        (self.X, h), (self.S, self.dS), (self.Sdot, self.dSdot) = self._moving(T), parts(S), parts(Sdot)
        self.ad_h = ad(h)
        (self.v, self.dv), (self.a, self.da), (self.tau, self.dtau) = parts(v), parts(a), parts(tau)
        self.armature = np.diag(np.array(c.armature, float))
        self.turning, self.dturning = parts(armature_force([(c.joint, c.armature)], v))

    @staticmethod
    def _moving(T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, rate = parts(T)
        m = np.linalg.solve(value, rate)
        return Ad_inverse(value), np.array([m[2, 1], m[0, 2], m[1, 0], *m[:3, 3]])


def parts(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.real(x), np.imag(x) / STEP


class Tables:
    """One sample of a tree: everything by (value, derivative along a direction).

    dI: derivative of the spatial inertia of some bodies, by name.
    """

    def __init__(
        self,
        robot: System,
        state: Mapping[str, np.ndarray],
        direction: Mapping[str, np.ndarray],
        dI: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        m = robot.mechanism
        self.names = [c.child for c in m.joints]
        self.parent = [self.names.index(c.parent) if c.parent != "world" else -1 for c in m.joints]
        self.joints = [c.name for c in m.joints]
        self.links: list[Link] = []
        self.slices: list[slice] = []
        at_q = at_v = 0
        for c in m.joints:
            own, n = slice(at_v, at_v + c.joint.nv), c.joint.nq
            q = state["q"][at_q : at_q + n]
            dq = np.array(c.joint.rate(list(q), list(direction["q"][own])), float)
            given = [state[x][own] + 1j * STEP * direction[x][own] for x in ("v", "a", "tau")]
            self.links.append(Link(c, q + 1j * STEP * dq, *given))
            self.slices.append(own)
            at_q, at_v = at_q + n, at_v + c.joint.nv
        bodies = {b.name: b for b in m.bodies}
        number = {b.name: i for i, b in enumerate(m.bodies)}
        self.I, self.F_ext, self.dF_ext, self.dI = [], [], [], []
        for name in self.names:
            b = bodies[name]
            c = np.array(b.com, float)
            at_origin = np.array(b.inertia, float) + b.mass * hat(c) @ hat(c).T
            self.I.append(inertia(b.mass, b.mass * c, at_origin))
            self.dI.append(np.zeros((6, 6)) if dI is None or name not in dI else dI[name])
            self.F_ext.append(state["f_ext"][number[name]])
            self.dF_ext.append(direction["f_ext"][number[name]])
        self.root = np.concatenate([np.zeros(3), -np.array(m.gravity, float)])
        self.nv = at_v
        self._velocities()

    def _above(self, values: list[np.ndarray], i: int, root: np.ndarray) -> np.ndarray:
        return root if self.parent[i] < 0 else values[self.parent[i]]

    def _children(self, i: int) -> list[int]:
        return [k for k, p in enumerate(self.parent) if p == i]

    def _velocities(self) -> None:
        """V and η = ad_V S q̇ + Ṡ q̇, with their derivatives: the first sweep of all tables."""
        self.V, self.dV, self.eta, self.deta = [], [], [], []
        zero = np.zeros(6)
        for i, s in enumerate(self.links):
            above, d_above = s.X @ self._above(self.V, i, zero), s.X @ self._above(self.dV, i, zero)
            V = above + s.S @ s.v
            dV = d_above - s.ad_h @ above + s.dS @ s.v + s.S @ s.dv
            self.V.append(V)
            self.dV.append(dV)
            self.eta.append(ad(V) @ s.S @ s.v + s.Sdot @ s.v)
            self.deta.append(ad(dV) @ s.S @ s.v + ad(V) @ (s.dS @ s.v + s.S @ s.dv) + s.dSdot @ s.v + s.Sdot @ s.dv)

    def _own_force(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        """-ad*_V I V - F_ext and its derivative."""
        I, dI, V, dV = self.I[i], self.dI[i], self.V[i], self.dV[i]
        value = -ad(V).T @ I @ V - self.F_ext[i]
        return value, -ad(dV).T @ I @ V - ad(V).T @ (dI @ V + I @ dV) - self.dF_ext[i]

    def inverse(self) -> tuple[np.ndarray, np.ndarray]:
        """τ and ∂τ/∂p: Tables 2 and 5."""
        A: list[np.ndarray] = []
        dA: list[np.ndarray] = []
        for i, s in enumerate(self.links):
            above, d_above = s.X @ self._above(A, i, self.root), s.X @ self._above(dA, i, np.zeros(6))
            A.append(above + s.S @ s.a + self.eta[i])
            dA.append(d_above - s.ad_h @ above + s.dS @ s.a + s.S @ s.da + self.deta[i])
        tau, dtau = np.zeros(self.nv), np.zeros(self.nv)
        F: dict[int, np.ndarray] = {}
        dF: dict[int, np.ndarray] = {}
        for i in reversed(range(len(self.links))):
            s = self.links[i]
            own, d_own = self._own_force(i)
            F[i] = self.I[i] @ A[i] + own
            dF[i] = self.dI[i] @ A[i] + self.I[i] @ dA[i] + d_own
            for k in self._children(i):
                t = self.links[k]
                F[i] = F[i] + t.X.T @ F[k]
                dF[i] = dF[i] + t.X.T @ (dF[k] - t.ad_h.T @ F[k])
            tau[self.slices[i]] = s.S.T @ F[i] + s.armature @ s.a + s.turning
            dtau[self.slices[i]] = s.dS.T @ F[i] + s.S.T @ dF[i] + s.armature @ s.da + s.dturning
        return tau, dtau

    def hybrid(self, prescribed: Collection[str] = ()) -> tuple[np.ndarray, ...]:
        """a, τ, ∂a/∂p, ∂τ/∂p of all joints: Tables 4 and 7; u are the prescribed joints."""
        articulated = self._inward(prescribed)
        a, tau, da, dtau = (np.zeros(self.nv) for _ in range(4))
        A: list[np.ndarray] = []
        dA: list[np.ndarray] = []
        for i, s in enumerate(self.links):
            own = self.slices[i]
            I, dI, B, dB, Psi, dPsi = articulated[i]
            above, d_above = s.X @ self._above(A, i, self.root), s.X @ self._above(dA, i, np.zeros(6))
            free, d_free = above + self.eta[i], d_above - s.ad_h @ above + self.deta[i]
            if self.joints[i] in prescribed:
                a[own], da[own] = s.a, s.da
            else:
                left = s.tau - s.turning - s.S.T @ I @ free - s.S.T @ B
                d_left = s.dtau - s.dturning - (s.dS.T @ I + s.S.T @ dI) @ free - s.S.T @ I @ d_free
                d_left = d_left - s.dS.T @ B - s.S.T @ dB
                a[own], da[own] = Psi @ left, dPsi @ left + Psi @ d_left
            A.append(free + s.S @ a[own])
            dA.append(d_free + s.dS @ a[own] + s.S @ da[own])
            F, dF = I @ A[i] + B, dI @ A[i] + I @ dA[i] + dB
            if self.joints[i] in prescribed:
                tau[own] = s.S.T @ F + s.armature @ s.a + s.turning
                dtau[own] = s.dS.T @ F + s.S.T @ dF + s.armature @ s.da + s.dturning
            else:
                tau[own], dtau[own] = s.tau, s.dtau
        return a, tau, da, dtau

    def _inward(self, prescribed: Collection[str]) -> dict[int, tuple[np.ndarray, ...]]:
        """Î, B̂ and Ψ with their derivatives, by body."""
        found: dict[int, tuple[np.ndarray, ...]] = {}
        handed: dict[int, tuple[np.ndarray, ...]] = {}
        for i in reversed(range(len(self.links))):
            I, dI = self.I[i], self.dI[i]
            B, dB = self._own_force(i)
            for k in self._children(i):
                t = self.links[k]
                Pi, dPi, beta, dbeta = handed[k]
                turned = Pi @ t.ad_h
                I = I + t.X.T @ Pi @ t.X
                dI = dI + t.X.T @ (dPi - turned - turned.T) @ t.X
                B = B + t.X.T @ beta
                dB = dB + t.X.T @ (dbeta - t.ad_h.T @ beta)
            found[i], handed[i] = self._across(i, I, dI, B, dB, self.joints[i] in prescribed)
        return found

    def _across(
        self, i: int, I: np.ndarray, dI: np.ndarray, B: np.ndarray, dB: np.ndarray, is_prescribed: bool
    ) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
        """What a joint makes of the articulated inertia and bias of its body: Ψ, and Π and β that it hands on."""
        s, eta, deta = self.links[i], self.eta[i], self.deta[i]
        if is_prescribed:
            beta = B + I @ (eta + s.S @ s.a)
            dbeta = dB + dI @ (eta + s.S @ s.a) + I @ (deta + s.dS @ s.a + s.S @ s.da)
            return (I, dI, B, dB, I, dI), (I, dI, beta, dbeta)
        Psi = np.linalg.inv(s.S.T @ I @ s.S + s.armature)
        bent = s.dS.T @ I @ s.S
        dPsi = -Psi @ (s.S.T @ dI @ s.S + bent + bent.T) @ Psi
        one, other = dI @ s.S @ Psi @ s.S.T @ I, I @ s.dS @ Psi @ s.S.T @ I
        Pi = I - I @ s.S @ Psi @ s.S.T @ I
        dPi = dI - (I @ s.S @ dPsi @ s.S.T @ I + one + one.T + other + other.T)
        left = s.tau - s.turning - s.S.T @ (I @ eta + B)
        d_left = s.dtau - s.dturning - s.dS.T @ (I @ eta + B) - s.S.T @ (dI @ eta + I @ deta + dB)
        beta = B + I @ (eta + s.S @ Psi @ left)
        dbeta = dB + dI @ (eta + s.S @ Psi @ left)
        dbeta = dbeta + I @ (deta + (s.dS @ Psi + s.S @ dPsi) @ left + s.S @ Psi @ d_left)
        return (I, dI, B, dB, Psi, dPsi), (Pi, dPi, beta, dbeta)
