"""A package with a buffer of as many bytes as one asks for: large_buffer.py FOLDER BYTES."""

import json
import pathlib
import random
import sys

import graphs_of_size


def lookup(graph: graphs_of_size.Graph, x: str, rows: int) -> str:
    table = graph.argument("table", (rows, graphs_of_size.WIDTH), "buffer")
    return graph.add(x, graph.op("embedding", [table, graph.integers()[0]], graph.types[x]))


folder, size = pathlib.Path(sys.argv[1]), int(sys.argv[2])
graphs_of_size.KINDS["lookup"] = lookup
rows = size // (4 * graphs_of_size.WIDTH)
graphs_of_size.write_package(folder, "lookup", rows)
entry = {"dtype": "F32", "shape": [rows, graphs_of_size.WIDTH], "data_offsets": [0, size]}
header = json.dumps({"table": entry}).encode()
header += b" " * (-len(header) % 8)
values = random.Random(1).randbytes(size // 4)  # as the first bytes of numbers below 1
values = b"".join(values[at:at + 3] + b"\x3e" for at in range(0, len(values), 3))[:size // 4]
(folder / "consts.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + values * 4)
