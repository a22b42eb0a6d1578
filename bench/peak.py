"""The peak rate of fused multiply-adds of one core, measured."""

from __future__ import annotations

import ctypes
import time

from fourbar.compile.ir import Code, Lanes
from fourbar.compile.llvm import Loaded, batch_lanes, to_object
from fourbar.compile.transfer import open_loop

_CHAINS = 12  # independent multiply-adds in flight: more than latency times ports of any CPU of today


def _assembly(lanes: Lanes) -> str:
    """@spin(count, out): `count` rounds of independent multiply-adds."""
    v, w = lanes.double, lanes.width
    c = Code()
    c.label("entry")
    c.do("br label %round")
    _, close = open_loop(c, "round", "entry", "%count", 1, "done")
    phis = [f"  %x{k} = phi {v} [{lanes.constant(1.0 + k)}, %entry], [%y{k}, %round_last]" for k in range(_CHAINS)]
    c.lines[c.lines.index("round:") + 1 : c.lines.index("round:") + 1] = phis
    for k in range(_CHAINS):
        given = f"{v} %x{k}, {v} {lanes.constant(0.999)}, {v} {lanes.constant(0.001)}"
        c.do(f"%y{k} = call {v} @llvm.fma.v{w}f64({given})")
    c.do(close)
    c.label("done")
    for k in range(_CHAINS):
        c.do(f"store {v} %x{k}, ptr {c.let(f'getelementptr {v}, ptr %out, i64 {k}')}, align 8")
    c.do("ret void")
    declared = f"declare {v} @llvm.fma.v{w}f64({v}, {v}, {v})\n"
    return declared + f"define void @spin(i64 %count, ptr %out) #0 {{\n{c.body()}\n}}\n" + lanes.attributes


def peak_flops() -> float:
    """Floating-point operations per second (two per multiply-add), the best of several runs."""
    lanes = batch_lanes()
    code = Loaded(to_object(_assembly(lanes)))
    spin = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(code.address("spin"))
    out = (ctypes.c_double * (_CHAINS * lanes.width))()
    count, best = 2_000_000, float("inf")
    for _ in range(10):
        start = time.perf_counter()
        spin(count, ctypes.addressof(out))
        best = min(best, time.perf_counter() - start)
    return 2.0 * count * _CHAINS * lanes.width / best
