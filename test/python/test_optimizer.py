"""Reading optimizers: what is carried over, what is refused, and that the rebuilt one is the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from hone.errors import HoneError  # noqa: E402
from hone.optimizer import read_optimizer, rebuild  # noqa: E402
from hone.optimizer_spec import DEFAULTS, MOMENTS  # noqa: E402
from torch.optim import optimizer as all_optimizers  # noqa: E402


def parameters() -> dict[str, torch.nn.Parameter]:
    generator = torch.Generator().manual_seed(3)
    make = lambda *shape: torch.nn.Parameter(torch.randn(shape, generator=generator))
    return {"w": make(3, 5), "b": make(5), "m": make(4, 2), "frozen": make(2).requires_grad_(False)}


def two_of(kind: type, p: dict) -> list[torch.nn.Parameter]:
    """Parameters that the optimizer takes: of Muon matrices."""
    return [p["w"], p["m" if kind is torch.optim.Muon else "b"]]


def test_table_is_that_of_the_compiler() -> None:
    """Names, numbers, defaults and formats of moments are those of Optimizers.def."""
    table = Path(__file__).parents[2] / "include/hone/Transforms/Step/Optimizers.def"
    rows = re.findall(r"^(HONE_OPTIMIZER\w*)\((.*)\)$", table.read_text(), re.M)
    cells = [(macro, [cell.strip() for cell in row.split(",")]) for macro, row in rows]
    keys = {row[0]: row[1].strip('"') for macro, row in cells if macro == "HONE_OPTIMIZER_NUMBER"}
    kinds = {row[0]: row for macro, row in cells if macro == "HONE_OPTIMIZER"}
    formats = {"Full": ("fp32",), "BF16": ("fp32", "bf16"), "Coded": ("fp32", "bf16", "8bit")}
    defaults = {row[1].strip('"'): {} for row in kinds.values()}
    for macro, row in cells:
        if macro == "HONE_OPTIMIZER_DEFAULT" and row[1] != "clip":
            value = float.fromhex(row[2]) if "0x" in row[2] else float(row[2])
            defaults[kinds[row[0]][1].strip('"')][keys[row[1]]] = value
    flags = ("maximize", "nesterov", "match_rms_adamw")
    assert defaults == {
        name: {key: value for key, value in numbers.items() if key not in flags}
        for name, numbers in DEFAULTS.items()
    }
    assert {row[1].strip('"'): formats[row[2]] for row in kinds.values()} == MOMENTS


def test_adamw_groups_become_scales() -> None:
    p = parameters()
    optimizer = torch.optim.AdamW(
        [{"params": [p["w"]], "weight_decay": 0.1, "lr": 1e-3}, {"params": [p["b"]], "weight_decay": 0.0, "lr": 5e-4}],
        betas=(0.9, 0.95),
        eps=1e-7,
    )
    spec = read_optimizer(optimizer, p, clip=1.0)
    assert spec.attribute == {
        "name": "adamw",
        "lr": 1e-3,
        "weight_decay": 0.1,
        "beta1": 0.9,
        "beta2": 0.95,
        "eps": 1e-7,
        "clip": 1.0,
        "groups": [{"lr_scale": 1.0, "decay_scale": 1.0}, {"lr_scale": 0.5, "decay_scale": 0.0}],
    }
    assert spec.group_of == {"w": 0, "b": 1}


def test_sgd() -> None:
    p = parameters()
    optimizer = torch.optim.SGD([p["w"], p["b"]], lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-4, maximize=True)
    assert read_optimizer(optimizer, p, None).attribute == {
        "name": "sgd",
        "lr": 0.1,
        "weight_decay": 1e-4,
        "momentum": 0.9,
        "nesterov": True,
        "maximize": True,
        "groups": [{"lr_scale": 1.0, "decay_scale": 1.0}],
    }


def test_adam_without_decay_is_adamw() -> None:
    p = parameters()
    spec = read_optimizer(torch.optim.Adam([p["w"]], lr=0.01), p, None)
    assert (spec.attribute["name"], spec.attribute["weight_decay"], spec.group_of) == ("adamw", 0.0, {"w": 0})


def test_dictionary() -> None:
    p = parameters()
    spec = read_optimizer({"name": "adamw", "lr": 6e-4, "betas": (0.9, 0.95), "clip": 0.5}, p, None)
    assert spec.attribute["weight_decay"] == 0.01 and spec.attribute["beta2"] == 0.95 and spec.attribute["clip"] == 0.5
    assert spec.group_of == {"w": 0, "b": 0, "m": 0}


def test_adafactor() -> None:
    p = parameters()
    optimizer = torch.optim.Adafactor([p["w"], p["b"]], lr=0.02, d=1.5, weight_decay=0.1)
    assert read_optimizer(optimizer, p, None).attribute == {
        "name": "adafactor",
        "lr": 0.02,
        "weight_decay": 0.1,
        "beta2_decay": -0.8,
        "eps1": 2.0**-23,
        "eps2": 1e-3,
        "clip_threshold": 1.5,
        "groups": [{"lr_scale": 1.0, "decay_scale": 1.0}],
    }


def test_lion_and_moments() -> None:
    p = parameters()
    spec = read_optimizer({"name": "lion", "betas": (0.95, 0.98), "moments": "bf16"}, p, None)
    assert spec.attribute == {
        "name": "lion",
        "lr": 1e-4,
        "weight_decay": 0.0,
        "beta1": 0.95,
        "beta2": 0.98,
        "moments": "bf16",
        "groups": [{"lr_scale": 1.0, "decay_scale": 1.0}],
    }
    assert read_optimizer({"name": "adamw", "moments": "8bit"}, p, None).attribute["moments"] == "8bit"
    assert "moments" not in read_optimizer({"name": "adamw", "moments": "fp32"}, p, None).attribute


@pytest.mark.parametrize("spec", [{"name": "lion"}, {"name": "adamw", "moments": "8bit"}])
def test_golden_steps_need_an_optimizer_of_pytorch(spec: dict) -> None:
    p = parameters()
    with pytest.raises(HoneError, match="golden: PyTorch has no (lion|moments in 8bit), expected"):
        rebuild(spec, p, p)


def test_none() -> None:
    assert read_optimizer(None, parameters(), None) is None


class Odd(torch.optim.Optimizer):
    def __init__(self, params) -> None:
        super().__init__(params, {"lr": 1.0})


REFUSED = {
    "optimizer: Odd is not supported": lambda p: Odd([p["w"]]),
    "AdamW group 0: amsgrad=True is not supported": lambda p: torch.optim.AdamW([p["w"]], amsgrad=True),
    "SGD group 0: dampening=0.1 is not supported": lambda p: torch.optim.SGD(
        [p["w"]], lr=1, momentum=0.5, dampening=0.1
    ),
    "Adam group 0: weight_decay=0.1 of Adam is not decoupled; use AdamW": lambda p: torch.optim.Adam(
        [p["w"]], weight_decay=0.1
    ),
    r"a parameter of shape \[4\] is not one of the model's": lambda p: torch.optim.AdamW(
        [torch.nn.Parameter(torch.zeros(4))]
    ),
    "name is 'rmsprop', expected one of adamw, sgd, lion, adafactor, muon": lambda p: {"name": "rmsprop"},
    "RMSprop is not supported, only AdamW, SGD, Adafactor, Muon": lambda p: torch.optim.RMSprop([p["w"]]),
    "moments is '8bit', expected fp32 or bf16 for lion": lambda p: {"name": "lion", "moments": "8bit"},
    "moments is 'bf16', expected fp32 for adafactor": lambda p: {"name": "adafactor", "moments": "bf16"},
    "moments is 'int4', expected fp32 or bf16 or 8bit for adamw": lambda p: {"name": "adamw", "moments": "int4"},
    "beta2_decay is 0.5, expected <= 0": lambda p: {"name": "adafactor", "beta2_decay": 0.5},
    "clip_threshold is 0.5, expected >= 1": lambda p: {"name": "adafactor", "clip_threshold": 0.5},
    "sgd has no option 'eps'": lambda p: {"name": "sgd", "eps": 1e-8},
    "is a str, expected a torch optimizer, a list of them or a dictionary": lambda p: "adamw",
    "is an empty list, expected torch optimizers in it": lambda p: [],
    "optimizer 1 of the list: is a dict, expected a torch optimizer: a dictionary stands alone": lambda p: [
        torch.optim.SGD([p["w"]]), {"name": "adamw"}
    ],
    "optimizer 1 of the list: parameter 'w' is in an earlier one too, expected it in one optimizer": lambda p: [
        torch.optim.AdamW([p["b"], p["w"]]), torch.optim.SGD([p["w"]])
    ],
    "optimizer 1 of the list: SGD group 0: dampening=0.1 is not supported": lambda p: [
        torch.optim.AdamW([p["b"]]), torch.optim.SGD([p["w"]], momentum=0.5, dampening=0.1)
    ],
    "lr is -1.0, expected >= 0": lambda p: {"name": "sgd", "lr": -1.0},
    r"beta2 is 1.0, expected \[0, 1\)": lambda p: {"name": "adamw", "beta2": 1.0},
}


@pytest.mark.parametrize("message", REFUSED)
def test_refusals(message: str) -> None:
    p = parameters()
    with pytest.raises(HoneError, match=message) as error:
        read_optimizer(REFUSED[message](p), p, None)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("clip", [0.0, -1.0, float("nan")])
def test_clip_must_be_positive(clip: float) -> None:
    with pytest.raises(HoneError, match="clip: is .*, expected a positive norm"):
        read_optimizer({"name": "sgd"}, parameters(), clip)


@pytest.mark.parametrize(
    "make",
    [
        lambda p: torch.optim.AdamW([{"params": [p["w"]], "weight_decay": 0.3}, {"params": [p["b"]]}], lr=0.02),
        lambda p: torch.optim.Adam([p["w"], p["b"]], lr=0.02),
        lambda p: torch.optim.SGD([p["w"], p["b"]], lr=0.1, momentum=0.9, nesterov=True),
        lambda p: torch.optim.Adafactor([p["w"], p["b"]], lr=0.1, d=1.25),
        lambda p: torch.optim.Muon([p["w"], p["m"]], lr=0.1, adjust_lr_fn="match_rms_adamw"),
    ],
)
def test_rebuilt_optimizer_takes_the_same_steps(make) -> None:
    first, second = parameters(), parameters()
    one = make(first)
    two = rebuild(one, first, second)
    for _ in range(3):
        for p, optimizer in ((first, one), (second, two)):
            for name in ("w", "b", "m"):
                p[name].grad = p[name].detach().sin()
            optimizer.step()
    for name in first:
        assert torch.equal(first[name], second[name])


@pytest.mark.parametrize(
    "spec, make",
    [
        ({"name": "adamw", "lr": 0.02, "beta2": 0.9}, lambda p: torch.optim.AdamW(p, lr=0.02, betas=(0.9, 0.9))),
        ({"name": "sgd", "lr": 0.1, "momentum": 0.5}, lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.5)),
        ({"name": "adafactor", "lr": 0.1, "eps2": 0.01}, lambda p: torch.optim.Adafactor(p, lr=0.1, eps=(None, 0.01))),
    ],
)
def test_dictionary_means_the_torch_optimizer(spec: dict, make) -> None:
    first, second = parameters(), parameters()
    for p, optimizer in ((first, make([first["w"], first["b"]])), (second, rebuild(spec, second, second))):
        for _ in range(3):
            for name in ("w", "b"):
                p[name].grad = p[name].detach().cos()
            optimizer.step()
    assert torch.equal(first["w"], second["w"])


# -- every value that an optimizer of PyTorch holds ---------------------------------------------------------------

# How PyTorch computes an update, which makes no difference to what it is.
IMPLEMENTATION = {"foreach": True, "capturable": True, "differentiable": True, "fused": True}

# Optimizer -> option -> a value that is not the default, and either what the attribute then holds besides the default,
# or the refusal. Options that make no difference leave it as it is. None: the entry is not there.
VALUES: dict[type, dict[str, tuple[object, dict | str]]] = {
    torch.optim.AdamW: {
        "lr": (0.5, {"lr": 0.5}),
        "betas": ((0.8, 0.9), {"beta1": 0.8, "beta2": 0.9}),
        "eps": (1e-5, {"eps": 1e-5}),
        "weight_decay": (0.25, {"weight_decay": 0.25}),
        "maximize": (True, {"maximize": True}),
        "amsgrad": (True, "AdamW group 0: amsgrad=True is not supported, only False"),
        "decoupled_weight_decay": (None, {}),  # always True, not an argument
    },
    torch.optim.Adam: {
        "lr": (0.5, {"lr": 0.5}),
        "betas": ((0.8, 0.9), {"beta1": 0.8, "beta2": 0.9}),
        "eps": (1e-5, {"eps": 1e-5}),
        "weight_decay": (0.25, "Adam group 0: weight_decay=0.25 of Adam is not decoupled; use AdamW"),
        "maximize": (True, {"maximize": True}),
        "amsgrad": (True, "Adam group 0: amsgrad=True is not supported, only False"),
        "decoupled_weight_decay": (True, {}),
    },
    torch.optim.SGD: {
        "lr": (0.5, {"lr": 0.5}),
        "momentum": (0.75, {"momentum": 0.75}),
        "dampening": (0.5, "SGD group 0: dampening=0.5 is not supported, only 0"),
        "weight_decay": (0.25, {"weight_decay": 0.25}),
        "nesterov": (True, {"momentum": 0.75, "nesterov": True}),
        "maximize": (True, {"maximize": True}),
    },
    torch.optim.Muon: {
        "lr": (0.5, {"lr": 0.5}),
        "weight_decay": (0.25, {"weight_decay": 0.25}),
        "momentum": (0.75, {"momentum": 0.75}),
        "nesterov": (False, {"nesterov": None}),
        "eps": (1e-5, {"eps": 1e-5}),
        "ns_coefficients": ((3.0, -4.0, 2.0), "Muon group 0: ns_coefficients=(3.0, -4.0, 2.0) is not supported, only"),
        "ns_steps": (4, "Muon group 0: ns_steps=4 is not supported, only 5"),
        "adjust_lr_fn": ("match_rms_adamw", {"match_rms_adamw": True}),
    },
    torch.optim.Adafactor: {
        "lr": (0.5, {"lr": 0.5}),
        "beta2_decay": (-0.5, {"beta2_decay": -0.5}),
        "eps": ((1e-5, 1e-4), {"eps1": 1e-5, "eps2": 1e-4}),
        "d": (2.0, {"clip_threshold": 2.0}),
        "weight_decay": (0.25, {"weight_decay": 0.25}),
        "maximize": (True, {"maximize": True}),
    },
}
CASES = [(kind, option) for kind, options in VALUES.items() for option in options]


def make_optimizer(kind: type, option: str, value: object, p: dict) -> torch.optim.Optimizer:
    besides = {"momentum": 0.75} if (kind, option) == (torch.optim.SGD, "nesterov") else {}
    return kind(two_of(kind, p), **({} if value is None else {option: value}), **besides)


@pytest.mark.parametrize("kind", VALUES)
def test_every_value_is_in_the_table(kind: type) -> None:
    held = set(kind([torch.nn.Parameter(torch.zeros(2, 2))]).defaults)
    assert held - set(IMPLEMENTATION) == set(VALUES[kind])


@pytest.mark.parametrize("kind, option", CASES)
def test_every_value_is_taken_or_refused(kind: type, option: str) -> None:
    value, expected = VALUES[kind][option]
    p = parameters()
    plain = read_optimizer(kind(two_of(kind, p)), p, None).attribute
    optimizer = make_optimizer(kind, option, value, p)
    if isinstance(expected, str):
        with pytest.raises(HoneError) as error:
            read_optimizer(optimizer, p, None)
        assert expected in str(error.value)
        return
    held = {name: value for name, value in (plain | expected).items() if value is not None}
    assert read_optimizer(optimizer, p, None).attribute == held


@pytest.mark.parametrize("kind, option", [(k, o) for k in VALUES for o in IMPLEMENTATION])
def test_implementation_makes_no_difference(kind: type, option: str) -> None:
    p = parameters()
    held = kind(two_of(kind, p))
    if option not in held.defaults:
        pytest.skip(f"{kind.__name__} has no {option}")
    plain = read_optimizer(held, p, None).attribute
    for group in held.param_groups:  # some are refused by constructors on a machine without a GPU
        group[option] = True
    assert read_optimizer(held, p, None).attribute == plain
    for group in rebuild(held, p, p).param_groups:
        assert not group[option]


@pytest.mark.parametrize("kind, option", CASES)
def test_groups_differ(kind: type, option: str) -> None:
    """lr and weight_decay become scales; a group that differs in another value has all settings of its own."""
    value, expected = VALUES[kind][option]
    if isinstance(expected, str) or not expected:
        pytest.skip("refused alone, or no difference")
    p = parameters()
    first, second = two_of(kind, p)
    optimizer = kind([{"params": [first]}, {"params": [second], **dict(expected and {option: value})}], **(
        {"momentum": 0.75} if (kind, option) == (torch.optim.SGD, "nesterov") else {}
    ))
    if option in ("lr", "weight_decay"):
        spec = read_optimizer(optimizer, p, None)
        scale = "lr_scale" if option == "lr" else "decay_scale"
        base = optimizer.param_groups[0][option]
        assert spec.attribute[option] == max(base, value)
        assert [g[scale] for g in spec.attribute["groups"]] == [base / max(base, value), value / max(base, value)]
        return
    attribute = read_optimizer(optimizer, p, None).attribute
    scales = {"lr_scale": 1.0, "decay_scale": 1.0}
    alone = make_optimizer(kind, option, value, p)
    one = read_optimizer(alone, p, None).attribute
    own = {k: v for k, v in one.items() if k not in ("lr", "weight_decay", "groups")}
    assert attribute["groups"] == [scales, scales | own]
    assert all(own.get(name) == value for name, value in expected.items())


def test_a_list_of_optimizers() -> None:
    """Groups are numbered through; the rate is the largest, and settings that a group lacks are not the first one's."""
    p = parameters()
    given = [
        torch.optim.SGD([p["w"]], lr=0.5, momentum=0.75, nesterov=True),
        torch.optim.AdamW([{"params": [p["b"]], "lr": 0.25}], weight_decay=0.125, maximize=True),
    ]
    spec = read_optimizer(given, p, 1.0)
    assert spec.group_of == {"w": 0, "b": 1}
    assert spec.attribute == {
        "name": "sgd",
        "lr": 0.5,
        "weight_decay": 0.125,
        "momentum": 0.75,
        "nesterov": True,
        "clip": 1.0,
        "groups": [
            {"lr_scale": 1.0, "decay_scale": 0.0},
            {"lr_scale": 0.5, "decay_scale": 1.0, "name": "adamw", "beta1": 0.9, "beta2": 0.999, "eps": 1e-8,
             "maximize": True},
        ],
    }
    assert read_optimizer(given[:1], p, None) == read_optimizer(given[0], p, None)


def test_tensors_are_numbers(capfd) -> None:
    p = parameters()
    optimizer = torch.optim.AdamW(
        [p["w"]], lr=torch.tensor(0.5), betas=(torch.tensor(0.75), torch.tensor(0.5)), foreach=False, capturable=True
    )
    attribute = read_optimizer(optimizer, p, None).attribute
    assert (attribute["lr"], attribute["beta1"], attribute["beta2"]) == (0.5, 0.75, 0.5)
    assert read_optimizer({"name": "sgd", "lr": torch.tensor(0.25)}, p, None).attribute["lr"] == 0.25
    assert capfd.readouterr() == ("", "")


WRONG = {
    "lr is 0, which trains nothing": lambda p: torch.optim.SGD([p["w"]], lr=0.0),
    "lr is 0, which trains nothing; expected": lambda p: {"name": "adamw", "lr": 0},
    "lr is '1e-3', expected a number": lambda p: {"name": "adamw", "lr": "1e-3"},
    "lr is nan, expected >= 0": lambda p: {"name": "adamw", "lr": float("nan")},
    "lr is inf, expected >= 0": lambda p: {"name": "adamw", "lr": float("inf")},
    "maximize is 1, expected True or False": lambda p: {"name": "adamw", "maximize": 1},
    "beta1 is True, expected a number": lambda p: {"name": "adamw", "beta1": True},
    r"betas is \(0.9,\), expected two numbers": lambda p: {"name": "adamw", "betas": (0.9,)},
    "no beta1 or beta2 beside them": lambda p: {"name": "adamw", "betas": (0.9, 0.99), "beta2": 0.5},
    "nesterov is True with momentum 0": lambda p: {"name": "sgd", "nesterov": True},
    "clip: is -1.0, expected a positive norm": lambda p: {"name": "sgd", "clip": -1.0},
    r'RMSprop .*, or in its place a dictionary such as {"name": "lion", "lr": 1e-4} \(docs/export.md\)': lambda p: (
        torch.optim.RMSprop([p["w"]])
    ),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_values(message: str) -> None:
    p = parameters()
    with pytest.raises(HoneError, match=message) as error:
        read_optimizer(WRONG[message](p), p, None)
    assert "\n" not in str(error.value)


def add_hook(optimizer: torch.optim.Optimizer, name: str):
    return getattr(optimizer, name)(lambda *given: None)


HOOKS = {
    "SGD: this one has a hook before step": lambda o: add_hook(o, "register_step_pre_hook"),
    "SGD: this one has a hook after step": lambda o: add_hook(o, "register_step_post_hook"),
    "SGD: all have a hook before step": lambda o: add_hook(all_optimizers, "register_optimizer_step_pre_hook"),
    "SGD: all have a hook after step": lambda o: add_hook(all_optimizers, "register_optimizer_step_post_hook"),
}


@pytest.mark.parametrize("message", HOOKS)
def test_hooks_around_a_step_are_refused(message: str) -> None:
    """A projection of weights after each step, say: PyTorch runs it, and the program cannot."""
    p = parameters()
    optimizer = torch.optim.SGD([p["w"]], lr=0.1)
    hook = HOOKS[message](optimizer)
    try:
        with pytest.raises(HoneError, match=message) as error:
            read_optimizer(optimizer, p, None)
        assert "\n" not in str(error.value)
    finally:
        hook.remove()
    read_optimizer(optimizer, p, None)


def test_two_bounds_of_the_norm() -> None:
    with pytest.raises(HoneError, match="clip: is 1.0, and 2.0 in the optimizer; expected it once"):
        read_optimizer({"name": "sgd", "clip": 2.0}, parameters(), 1.0)


def test_a_group_may_stand_still() -> None:
    p = parameters()
    optimizer = torch.optim.SGD([{"params": [p["w"]], "lr": 0.5}, {"params": [p["b"]], "lr": 0.0}])
    assert [g["lr_scale"] for g in read_optimizer(optimizer, p, None).attribute["groups"]] == [1.0, 0.0]


def test_state_is_left_out_with_a_warning(capfd) -> None:
    p = parameters()
    optimizer = torch.optim.AdamW([p["w"]])
    for _ in range(3):
        p["w"].grad = torch.ones_like(p["w"])
        optimizer.step()
    read_optimizer(optimizer, p, None)
    assert capfd.readouterr().err == (
        "warning: optimizer: AdamW has taken 3 steps; its moments are left out, a run begins with zeros\n"
    )
    plain = torch.optim.SGD([p["w"]], lr=0.1)
    plain.step()
    read_optimizer(plain, p, None)
    assert capfd.readouterr().err == ""


def test_muon() -> None:
    p = parameters()
    expected = {
        "name": "muon",
        "lr": 1e-3,
        "weight_decay": 0.1,
        "momentum": 0.95,
        "eps": 1e-7,
        "nesterov": True,
        "groups": [{"lr_scale": 1.0, "decay_scale": 1.0}],
    }
    assert read_optimizer(torch.optim.Muon([p["w"]]), p, None).attribute == expected
    del expected["nesterov"]
    assert read_optimizer(torch.optim.Muon([p["w"]], nesterov=False), p, None).attribute == expected
    still = read_optimizer(torch.optim.Muon([p["w"]], momentum=0.0), p, None).attribute
    assert still == expected | {"momentum": 0.0}
    with pytest.raises(HoneError, match=r"parameter 'b' has rank 1, but muon updates matrices; expected optimizer=\["):
        read_optimizer({"name": "muon"}, p, None)


def test_decoupled_adam_is_rebuilt_decoupled() -> None:
    p, copies = parameters(), parameters()
    optimizer = torch.optim.Adam([p["w"]], lr=0.5, weight_decay=0.25, decoupled_weight_decay=True)
    rebuilt = rebuild(optimizer, p, copies)
    for held, one in ((optimizer, p), (rebuilt, copies)):
        one["w"].grad = torch.ones_like(one["w"])
        held.step()
    assert torch.equal(p["w"], copies["w"])
