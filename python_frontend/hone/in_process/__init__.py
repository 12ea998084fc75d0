"""hone.compile: a training step that a Python process calls (docs/in-process.md).

    compile.py  from a model to a step, by way of a package and honec
    cache.py    programs that were compiled before
    step.py     what a user holds
    tensors.py  tensors of NumPy and PyTorch as the runtime sees them, and the other way round
    library.py  the functions of runtime/include/honert/trainer.h
"""
