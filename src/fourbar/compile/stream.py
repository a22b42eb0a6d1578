"""Taking large results out past the caches.

An ordinary store first reads the line that it changes. Where a result is too large to be found in a cache by those who
read it later, that is half of the traffic with the memory, and most of the time of many a Jacobian. A streaming store
does not read, but it writes aligned vectors only, so the entries of a sample go through a small buffer, from which they
are taken as the memory is aligned.
"""

from __future__ import annotations

from .ir import Lanes
from .transfer import Unpack, open_loop

LEAST_BYTES = 24 << 20  # smaller arrays stay in a cache, where ordinary stores are as fast and readers find them
CHUNK = 64  # entries of a sample that are buffered at a time


class Stream(Unpack):
    """Code that moves whole chunks of adjacent entries of W samples.

    The buffer of a sample has W places for the end of the chunk before, and then a chunk. Aligned vectors start at its
    places h, h + W, h + 2 W, ... where h, from 1 to W, is the number of entries before the row's first aligned address.
    """

    def __init__(self, lanes: Lanes) -> None:
        super().__init__(lanes)
        self._pitch = lanes.width + CHUNK

    def function(self, name: str) -> str:
        """@name(slots, map, array, outer stride, inner stride, count, first sample, number of samples) -> how many
        entries of each sample were moved: none if the array is small or its entries are not adjacent.
        """
        c, w = self.c, self.lanes.width
        c.label("entry")
        c.do(f"%buffer = alloca [{w * self._pitch} x double], align 64")
        c.do("%nowhere = alloca [8 x double], align 64")
        rows = self._sample_addresses()
        c.do(f"%whole = and i64 %count, {-CHUNK}")
        c.do(f"br i1 {self._is_worth_it()}, label %chunk, label %nothing")
        c.label("nothing")
        c.do("ret i64 0")
        k, close = open_loop(c, "chunk", "entry", "%whole", CHUNK, "finish")
        self._fill(k)
        self._empty(k, rows)
        c.do(close)
        c.label("finish")
        end = c.let(f"add i64 %whole, {-w}")
        for lane, row in enumerate(rows):
            self._copy(self._place(lane, 0), c.let(f"getelementptr double, ptr {row}, i64 {end}"))
        c.do("fence seq_cst")  # streaming stores are not ordered with those that tell other threads of the end
        c.do("ret i64 %whole")
        arguments = "ptr noalias %slots, ptr noalias %map, ptr noalias %array, i64 %outer, i64 %inner, i64 %count"
        return f"define internal i64 @{name}({arguments}, i64 %i, i64 %n) #0 {{\n{c.body()}\n}}\n"

    def _is_worth_it(self) -> str:
        c = self.c
        large = c.let(f"icmp sge i64 {c.let('mul i64 %n, %outer')}, {LEAST_BYTES}")
        all_lanes = c.let(f"icmp sle i64 {c.let(f'add i64 %i, {self.lanes.width}')}, %n")
        adjacent = c.let("icmp eq i64 %inner, 8")
        long = c.let("icmp sgt i64 %whole, 0")
        return c.let(f"and i1 {c.let(f'and i1 {large}, {all_lanes}')}, {c.let(f'and i1 {adjacent}, {long}')}")

    def _place(self, lane: int, k: str | int) -> str:
        """Address of place k of a sample's buffer."""
        return self.c.let(f"getelementptr double, ptr %buffer, i64 {self.c.let(f'add i64 {k}, {lane * self._pitch}')}")

    def _copy(self, source: str, target: str) -> None:
        """W entries, wherever they lie."""
        x = self.c.let(f"load {self.v}, ptr {source}, align 8")
        self.c.do(f"store {self.v} {x}, ptr {target}, align 8")

    def _fill(self, k: str) -> None:
        """Put the entries from k on into the buffers."""
        c, w = self.c, self.lanes.width
        c.do("br label %fill")
        t, close = open_loop(c, "fill", "chunk_body", str(CHUNK), w, "filled")
        first = c.let(f"add i64 {k}, {t}")
        loaded = [self._load(c.let(f"add i64 {first}, {j}")) for j in range(w)]
        place = c.let(f"add i64 {t}, {w}")
        for lane, x in enumerate(self.transposed(loaded)):
            c.do(f"store {self.v} {x}, ptr {self._place(lane, place)}, align {self.lanes.bytes}")
        c.do(close)
        c.label("filled")

    def _empty(self, k: str, rows: list[str]) -> None:
        """Write all aligned vectors that the buffers hold, and keep the last entries.

        In the first chunk, the first vector would begin before the row: the row's start is stored as it is.
        """
        c, w = self.c, self.lanes.width
        is_first = c.let(f"icmp eq i64 {k}, 0")
        c.do(f"br i1 {is_first}, label %start, label %vectors")
        c.label("start")
        for lane, row in enumerate(rows):
            self._copy(self._place(lane, w), row)
        c.do("br label %vectors")
        c.label("vectors")
        for lane, row in enumerate(rows):
            number = c.let(f"lshr i64 {c.let(f'ptrtoint ptr {row} to i64')}, 3")
            head = c.let(f"sub i64 {w}, {c.let(f'and i64 {number}, {w - 1}')}")
            first = c.let(f"add i64 {c.let(f'add i64 {k}, {head}')}, {-w}")
            for j in range(0, CHUNK, w):
                x = c.let(f"load {self.v}, ptr {self._place(lane, c.let(f'add i64 {head}, {j}'))}, align 8")
                where = c.let(f"getelementptr double, ptr {row}, i64 {c.let(f'add i64 {first}, {j}')}")
                if j == 0:
                    where = c.let(f"select i1 {is_first}, ptr %nowhere, ptr {where}")
                c.do(f"store {self.v} {x}, ptr {where}, align {self.lanes.bytes}, !nontemporal !0")
            self._copy(self._place(lane, CHUNK), self._place(lane, 0))
