# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The contenders. Each name has a function (Setting) -> Contender; it may raise,
which is recorded, or return None where it has nothing for the workload."""

import dataclasses
import importlib
import typing


@dataclasses.dataclass
class Contender:
    # () -> the output, or a tuple of them; enqueues on torch's current stream
    run: typing.Callable
    facts: dict = dataclasses.field(default_factory=dict)
    # (is it to be brief?) -> milliseconds of a flushed run, where events on torch's stream
    # cannot tell.
    sample: typing.Optional[typing.Callable] = None
    # Prepares the check: fills what the run will write with NaN.
    poison: typing.Callable = lambda: None
    # Where it does only a part of the module's work: () -> what it gives, in
    # double precision. It is then compared with fusec and never the best peer.
    part: typing.Optional[typing.Callable] = None
    # () -> what each step of a run takes, as profiles.py keeps it.
    profile: typing.Optional[typing.Callable] = None


@dataclasses.dataclass
class Setting:
    """What a contender is made from; all get the same module and inputs."""
    workload: typing.Any
    module: typing.Any
    inputs: tuple
    options: typing.Any
    folder: typing.Any  # scratch space of this workload
    made: dict = dataclasses.field(default_factory=dict)  # contenders so far, by name
    onnx: typing.Any = None  # (path, seconds) of the export, once there is one


# name -> (module, function, seconds it may take before it counts as hung)
CONTENDERS = {
    "eager": ("peers.pytorch", "makeEager", 60),
    "eager_graph": ("peers.pytorch", "makeEagerGraph", 60),
    "compile": ("peers.pytorch", "makeCompiled", 180),
    "compile_graph": ("peers.pytorch", "makeCompiledGraph", 60),
    "autotune": ("peers.pytorch", "makeAutotuned", 400),
    "autotune_graph": ("peers.pytorch", "makeAutotunedGraph", 60),
    "cublas": ("peers.cublas", "makeCublas", 60),
    "cublaslt": ("peers.cublaslt", "makeCublasLt", 60),
    "triton": ("peers.handwritten", "makeTriton", 180),
    "library": ("peers.handwritten", "makeLibrary", 60),
    "traffic": ("peers.traffic", "makeTraffic", 180),
    "fbgemm": ("peers.fbgemm", "makeFbgemm", 120),
    "cuembed": ("peers.cuembed", "makeCuEmbed", 120),
    "xla": ("peers.xla", "makeXla", 240),
    "fusec": ("peers.own", "makeFusec", 150),
    "dense": ("peers.own", "makeDense", 150),
    "fusec_graph": ("peers.own", "makeFusecGraph", 60),
}
# A graph replays the contender it is made from.
GRAPH = "_graph"


def listTensors(output):
    return output if isinstance(output, (tuple, list)) else (output,)


def spoil(output):
    """What no right result holds: NaN, of integers -1."""
    for tensor in listTensors(output):
        tensor.fill_(float("nan") if tensor.is_floating_point() else -1)


def getNeeded(name):
    """The contender that has to be made before, or None."""
    return name.removesuffix(GRAPH) if name.endswith(GRAPH) else None


def getLimit(name):
    """Seconds it may take before it counts as hung; of a further build as of fusec."""
    like = "fusec_graph" if getNeeded(name) else "fusec"
    return CONTENDERS.get(name, CONTENDERS[like])[2]


def make(name, setting):
    if name not in CONTENDERS:
        module, function = "peers.own", "makeNamedGraph" if getNeeded(name) else "makeNamed"
        return getattr(importlib.import_module(module), function)(setting, name)
    module, function, _ = CONTENDERS[name]
    return getattr(importlib.import_module(module), function)(setting)
