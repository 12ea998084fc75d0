"""A package of as many ops as one asks for: graph_of_size.py FOLDER KIND OPS (tools/graphs_of_size.py)."""

import pathlib
import sys

import graphs_of_size

graphs_of_size.write_package(pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
