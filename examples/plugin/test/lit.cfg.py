"""Runs with `lit -Dplugin=build/tanh-gelu.so test`; hone-opt is that of -Dtools=FOLDER, or of PATH."""

import os
import shutil

import lit.formats

config.name = "tanh-gelu"
config.test_format = lit.formats.ShTest()
config.suffixes = [".mlir"]
path = [lit_config.params.get("tools", ""), os.environ["PATH"]]
config.environment["PATH"] = os.pathsep.join(filter(None, path))
config.substitutions += [
    ("%plugin", os.path.abspath(lit_config.params["plugin"])),
    ("FileCheck", shutil.which("FileCheck") or "FileCheck-19"),
]
