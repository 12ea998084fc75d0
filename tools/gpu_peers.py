"""The peers of gpu_check.py, each in a process of its own, whose memory ends with it.

    gpu_peers.py torch-rate FACTS MODE    steps of PyTorch, timed: eager, or torch.compile in that mode
    gpu_peers.py torchao-rate FACTS RECIPE  the same with fp8 products of torchao in a recipe, compiled
    gpu_peers.py torch-losses FACTS FILE  losses of eager steps from the weights in FILE, on the tokens beside it
    gpu_peers.py jax-rate FACTS           steps of JAX, timed

FACTS is a case.json. The last line of the output is the answer, as JSON.
"""

from __future__ import annotations

import array
import json
import pathlib
import statistics
import sys
import time
from collections.abc import Callable

import gpu_cases
import peers

HERE = pathlib.Path(__file__).resolve().parent


def time_steps(case: gpu_cases.Case, step: Callable[[], object], wait: Callable[[], None]) -> dict:
    """Medians of five runs of four steps, after four that compile and warm up."""
    for _ in range(4):
        step()
    wait()
    times = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(4):
            step()
        wait()
        times.append(1e3 * (time.perf_counter() - start) / 4)
    ms = statistics.median(times)
    return {"ms": ms, "tokens_per_second": 1e3 * case.batch * case.sequence / ms}


def torch_rate(facts: dict, mode: str, prepare: Callable = lambda model: None) -> dict:
    import torch

    case = gpu_cases.from_facts(facts)
    torch.set_float32_matmul_precision("high")
    with torch.device("cuda"):  # weights are drawn there
        training = gpu_cases.make_training(case.padded)
    precision = "fp32" if case.precision == "fp32" else "bf16"
    step = peers.torch_step(training, case.vocab, case.batch, case.sequence, precision, compiles=mode != "eager",
                            device="cuda", mode=mode, prepare=prepare)
    answer = time_steps(case, step, torch.cuda.synchronize)
    return answer | {"version": torch.__version__, "peak_bytes": torch.cuda.max_memory_allocated()}


def torchao_rate(facts: dict, recipe: str) -> dict:
    """In bf16 but for the products of layers; the head stays in bf16, as in torchtitan."""
    import torchao
    from torchao.float8 import Float8LinearConfig, convert_to_float8_training

    def prepare(model) -> None:
        convert_to_float8_training(model, config=Float8LinearConfig.from_recipe_name(recipe),
                                   module_filter_fn=lambda _, name: name != "head")

    return torch_rate(facts, "default", prepare) | {"version": torchao.__version__}


def torch_losses(facts: dict, weights: str) -> dict:
    """What eager PyTorch makes of the same weights and tokens: batches follow each other in the file."""
    import hone
    import torch

    case = gpu_cases.from_facts(facts)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with torch.device(device):
        training = gpu_cases.make_training(case)
    hone.load(training.model, weights)
    model = training.model.train()
    if case.settings.get("dropout"):
        raise RuntimeError("a model with dropout draws other numbers in PyTorch")
    # Those of the package: `training` may group parameters.
    groups = [{**group, "params": group["params"]} for group in training.optimizer.param_groups]
    optimizer = torch.optim.AdamW(groups, lr=groups[0]["lr"], betas=groups[0]["betas"])
    values = array.array("H", (pathlib.Path(weights).parent / "tokens.bin").read_bytes())
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(case.precision)
    scaler = torch.amp.GradScaler(device, enabled=case.precision == "fp16")
    per_step, losses = case.batch * case.sequence, []
    for number in range(case.steps):
        ids = torch.tensor(values[number * per_step : (number + 1) * per_step + 1], dtype=torch.long, device=device)
        batch = (ids[:-1].view(case.batch, case.sequence), ids[1:].view(case.batch, case.sequence))
        with torch.autocast(device, dtype=dtype or torch.bfloat16, enabled=dtype is not None):
            loss = training.loss_fn(model, *batch)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        if training.clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), training.clip)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        losses.append(float(loss.detach()))
    return {"version": torch.__version__, "device": device, "losses": losses}


def jax_rate(facts: dict) -> dict:
    import jax

    import jax_peer

    case = gpu_cases.from_facts(facts)
    step = jax_peer.jax_step(case.padded, case.vocab)
    latest = []
    answer = time_steps(case, lambda: latest.append(step()), lambda: jax.block_until_ready(latest.pop()))
    return answer | {"version": jax.__version__, "device": jax.devices()[0].device_kind,
                     "peak_bytes": jax_peer.peak_bytes()}


def main() -> int:
    frontend = HERE.parent / "python_frontend"
    sys.path[:0] = [str(HERE / "python"), str(frontend), str(frontend / "examples")]
    name, facts, *more = sys.argv[1:]
    answers = {"torch-rate": torch_rate, "torchao-rate": torchao_rate, "torch-losses": torch_losses,
               "jax-rate": jax_rate}
    print(json.dumps(answers[name](json.loads(pathlib.Path(facts).read_text()), *more)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
