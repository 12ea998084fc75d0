"""Issue slots that a kernel takes per byte that it moves, estimated from the text that `nvdisasm -c` prints.

A kernel is read as a graph of basic blocks. What runs is estimated so:

- A *stretch* is what repeats: an innermost loop that moves bytes, once around; in a kernel without one, all of it. The
  part of an outer loop around it is amortised, and left out.
- Of the paths through a stretch, the one counts that moves most bytes, and of several the shortest. This leaves out
  slow paths of divisions, early exits, and code for the last elements.
- An access moves bytes if its address depends on the index of the block: blocks then share the tensor among them, and
  its bytes come from memory. A norm's weights, which every block reads, come from a cache. The address follows from
  registers and predicates by data flow.
- A kernel's figures are those of the worst of its stretches with its widest access: where it reads a row twice, each
  pass has to keep up with memory. A loop for single elements has narrower accesses, and does not count.

Instructions count per thread: one that all 32 threads of a warp execute together is one here for each of them. A
predicated instruction takes its slot whether it takes effect or not. A load of one value by all threads of a warp
counts as if each had its own, so figures of kernels that do this often are too low.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

KERNEL = re.compile(r"^\.text\.(\w+):\n(.*?)(?=^//-{8}|\Z)", re.S | re.M)
LABEL = re.compile(r"^([.$]\w[\w$]*):")
INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@(!?U?P\w+)\s+)?([A-Z][\w.]*)\s*(.*?)\s*;")
TARGET = re.compile(r"`\((.*?)\)")
REGISTER = re.compile(r"\b(U?[RP])(\d+)\b(?:\.reuse)?(\.64)?")
DESCRIPTOR = re.compile(r"desc\[\w+\]")
ADDRESS = re.compile(r"\[([^\[\]]*)\]")

ACCESSES = ("LDG", "STG", "LD", "ST", "ATOMG", "ATOM", "RED", "LDGSTS")
ACCESS_BYTES = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16, "256": 32}
LEAVING = ("BRA", "BRX", "EXIT", "JMP", "RET")  # their block
WITHOUT_RESULT = ("STG", "ST", "STS", "STL", "RED", "LDGSTS")

# By the throughput table of NVIDIA's CUDA programming guide, architectures 8.6 to 9.0: a multiprocessor starts 128
# threads' instructions per clock, 64 of integers, comparisons, selections and conversions, 16 of special functions.
HALF_RATE = ("FMNMX", "FSEL", "FSETP", "F2FP", "IABS", "IADD3", "IMNMX", "ISETP", "LEA", "LOP3", "MOV", "PLOP3", "PRMT",
             "SEL", "SHF", "VIADD", "VIADDMNMX", "VIMNMX", "VOTE")
SPECIAL = ("MUFU", "F2F", "F2I", "I2F", "FRND", "FLO", "POPC")


@dataclass
class Instruction:
    guarded: bool
    opcode: str  # with modifiers
    operands: str

    def __post_init__(self) -> None:
        self.name, *self.modifiers = self.opcode.split(".")

    @property
    def access(self) -> int:
        """Bytes of global memory that a thread accesses."""
        if self.name not in ACCESSES:
            return 0
        return next((ACCESS_BYTES[part] for part in self.modifiers if part in ACCESS_BYTES), 4)

    @property
    def result_registers(self) -> int:
        if self.access or self.name.startswith(("LD", "ULD", "S2")):
            size = next((ACCESS_BYTES[part] for part in self.modifiers if part in ("64", "128", "256")), 4)
            return size // 4
        wide = "WIDE" in self.modifiers or "64" in self.modifiers or self.name in ("DADD", "DMUL", "DFMA")
        return 2 if wide else 1

    def results_and_sources(self) -> tuple[set[str], set[str]]:
        """Names of registers and predicates. The results are the leading operands: of comparisons two predicates, of
        shuffles a predicate and a register, of additions a register and a carry."""
        operands = [part.strip() for part in DESCRIPTOR.sub("", self.operands).split(",")]
        count = 0
        if self.name not in WITHOUT_RESULT and operands[0]:
            predicate = [bool(re.match(r"U?P[\dT]", part)) for part in operands] + [False]
            count = 2 if predicate[0] or predicate[1] else 1
        results, sources = set(), set()
        for index, operand in enumerate(operands):
            pair = "WIDE" in self.modifiers and index == len(operands) - 1
            for kind, number, wide in REGISTER.findall(operand):
                length = 1 if "P" in kind else self.result_registers if index < count else 2 if wide or pair else 1
                (results if index < count else sources).update(f"{kind}{int(number) + i}" for i in range(length))
        return results, sources

    def follow(self, dependent: set[str]) -> bool:
        """Whether the result depends on the index of the block, and so the address of an access to global memory, given
        the registers and predicates that do; the results of this instruction join or leave them."""
        results, sources = self.results_and_sources()
        if self.access:
            address = " ".join(ADDRESS.findall(DESCRIPTOR.sub("", self.operands)))
            sources = {f"{kind}{int(number) + i}" for kind, number, wide in REGISTER.findall(address)
                       for i in range(2 if wide else 1)}
        depends = "SR_CTAID" in self.operands or bool(sources & dependent)
        if depends:
            dependent |= results
        elif not self.guarded:
            dependent -= results
        return depends


@dataclass
class Counts:
    """What a thread does on a path."""

    moved: int = 0  # bytes
    widest: int = 0  # bytes of the widest access that moves bytes
    instructions: int = 0
    half_rate: int = 0
    special: int = 0
    loaded: int = 0  # of the bytes that it moves

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.moved + other.moved, max(self.widest, other.widest), self.instructions + other.instructions,
                      self.half_rate + other.half_rate, self.special + other.special, self.loaded + other.loaded)

    @property
    def slots(self) -> int:
        """Issue slots, or those that pass while the busiest unit takes its share: of its instructions it starts one
        every second, or every eighth, slot."""
        return max(self.instructions, 2 * self.half_rate, 8 * self.special)

    @property
    def rank(self) -> tuple[int, int]:
        """The highest belongs to the path that counts."""
        return self.moved, -self.instructions

    @property
    def slots_per_16(self) -> float:
        """Slots per 16 bytes moved; 0 where none are."""
        return 16 * self.slots / self.moved if self.moved else 0.0

    @property
    def instructions_per_16(self) -> float:
        return 16 * self.instructions / self.moved if self.moved else 0.0


@dataclass
class Block:
    instructions: list[Instruction] = field(default_factory=list)
    followers: list[int] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)


def read_blocks(text: str) -> list[Block]:
    instructions: list[Instruction] = []
    labels: dict[str, int] = {}
    for line in text.splitlines():
        if match := LABEL.match(line.strip()):
            labels[match[1]] = len(instructions)
        elif match := INSTRUCTION.search(line):
            instructions.append(Instruction(match[1] is not None, match[2], match[3]))
    starts = {0, *labels.values()}
    starts |= {index + 1 for index, each in enumerate(instructions) if each.name in LEAVING}
    order = sorted(start for start in starts if start < len(instructions))
    at = {start: index for index, start in enumerate(order)}
    blocks = []
    for index, start in enumerate(order):
        end = order[index + 1] if index + 1 < len(order) else len(instructions)
        block, last = Block(instructions[start:end]), instructions[end - 1]
        # What diverged at a shuffle continues elsewhere (BRA.DIV), which these kernels never need. A call returns.
        divergence = "DIV" in last.modifiers
        conditional = last.guarded or divergence or re.match(r"!?U?P\d", last.operands) is not None
        target = TARGET.search(last.operands)
        if last.name == "BRA" and target and not divergence and target[1] in labels:
            block.followers.append(at[labels[target[1]]])
        if (last.name not in LEAVING or conditional) and index + 1 < len(order):
            block.followers.append(index + 1)
        blocks.append(block)
    return blocks


def order_blocks(blocks: list[Block]) -> list[int]:
    """Those that the entry reaches, in reverse postorder."""
    seen, order, stack = {0}, [], [(0, iter(blocks[0].followers))]
    while stack:
        block, followers = stack[-1]
        for follower in followers:
            if follower not in seen:
                seen.add(follower)
                stack.append((follower, iter(blocks[follower].followers)))
                break
        else:
            order.append(block)
            stack.pop()
    return order[::-1]


class Graph:
    """The basic blocks of a kernel, with counts."""

    def __init__(self, text: str) -> None:
        self.blocks = read_blocks(text)
        self.order = order_blocks(self.blocks)
        self.place = {block: index for index, block in enumerate(self.order)}
        self.before: dict[int, list[int]] = {block: [] for block in self.order}
        for block in self.order:
            for follower in self.blocks[block].followers:
                self.before[follower].append(block)
        self.count_blocks()

    def count_blocks(self) -> None:
        leaving: dict[int, set[str]] = {}

        def enter(block: int) -> set[str]:
            return set().union(*(leaving.get(each, set()) for each in self.before[block]))

        changed = True
        while changed:
            changed = False
            for block in self.order:
                dependent = enter(block)
                for each in self.blocks[block].instructions:
                    each.follow(dependent)
                changed |= leaving.get(block) != dependent
                leaving[block] = dependent
        for block in self.order:
            dependent, counts = enter(block), self.blocks[block].counts
            for each in self.blocks[block].instructions:
                moved = each.access if each.follow(dependent) else 0
                counts.moved += moved
                counts.loaded += moved if each.name not in WITHOUT_RESULT else 0
                counts.widest = max(counts.widest, moved)
                counts.instructions += 1
                counts.half_rate += each.name in HALF_RATE
                counts.special += each.name in SPECIAL

    def find_loops(self) -> dict[int, tuple[set[int], set[int]]]:
        """Natural loops: by header, their blocks and those of them that go back to the header."""
        dominators = {block: set(self.order) for block in self.order}
        dominators[0] = {0}
        changed = True
        while changed:
            changed = False
            for block in self.order[1:]:
                found = {block} | set.intersection(*(dominators[each] for each in self.before[block]))
                changed |= found != dominators[block]
                dominators[block] = found
        loops: dict[int, tuple[set[int], set[int]]] = {}
        for block in self.order:
            for header in set(self.blocks[block].followers) & dominators[block]:
                body, latches = loops.setdefault(header, ({header}, set()))
                latches.add(block)
                work = [block]
                while work:
                    if (each := work.pop()) not in body:
                        body.add(each)
                        work += self.before[each]
        return loops

    def count_path(self, start: int, ends: Iterable[int], within: set[int]) -> Counts:
        """The path that counts, without edges back."""
        best = {start: self.blocks[start].counts}
        for block in self.order:
            if block not in best:
                continue
            for follower in self.blocks[block].followers:
                if follower in within and self.place[follower] > self.place[block]:
                    found = best[block] + self.blocks[follower].counts
                    if follower not in best or found.rank > best[follower].rank:
                        best[follower] = found
        return max((best[end] for end in ends if end in best), key=lambda counts: counts.rank, default=Counts())

    def find_stretches(self) -> list[Counts]:
        """Of the widest accesses, in the order of their headers."""
        loops = self.find_loops()
        moving = {header for header, (body, _) in loops.items() if any(self.blocks[each].counts.moved for each in body)}
        stretches = [self.count_path(header, latches, body) for header, (body, latches) in loops.items()
                     if header in moving and not any(other != header and other in body for other in moving)]
        if not stretches:
            exits = [block for block in self.order if self.blocks[block].instructions[-1].name == "EXIT"]
            stretches = [self.count_path(0, exits, set(self.order))]
        widest = max(stretch.widest for stretch in stretches)
        return [each for each in stretches if each.widest == widest]

    def count(self) -> Counts:
        return max(self.find_stretches(), key=lambda counts: counts.slots_per_16)


def count_kernels(text: str) -> dict[str, Counts]:
    return {name: Graph(body).count() for name, body in KERNEL.findall(text)}
