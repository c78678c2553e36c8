# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fusec: exported by PyTorch, compiled by `fusec compile`, run by the library
in this process on PyTorch's tensors and stream. Also `dense`: fusec on a layer
without its low-rank update."""

import dataclasses
import functools
import importlib.util
import inspect
import os
import pathlib
import shutil
import subprocess
import time

import onnx
import torch

import builds
import programs
from peers import Contender, getNeeded, listTensors, spoil
from peers.profiling import profileBuild
from peers.pytorch import capture

TYPES = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.int64: "i64",
         torch.int32: "i32", torch.int8: "i8", torch.bool: "bool"}
TORCH_TO_ONNX = {
    torch.float32: onnx.TensorProto.FLOAT, torch.float16: onnx.TensorProto.FLOAT16,
    torch.bfloat16: onnx.TensorProto.BFLOAT16, torch.int64: onnx.TensorProto.INT64,
    torch.int32: onnx.TensorProto.INT32, torch.int8: onnx.TensorProto.INT8,
    torch.bool: onnx.TensorProto.BOOL}
EXTERNAL_BYTES = 1 << 30  # a protobuf ends at 2 GB
NVRTC_FOLDER = pathlib.Path("/usr/local/cuda/lib64")


def nameInputs(setting):
    names = list(inspect.signature(setting.module.forward).parameters.values())
    if names[-1].kind == inspect.Parameter.VAR_POSITIONAL:
        return [f"{names[-1].name}_{i}" for i in range(len(setting.inputs))]
    return [parameter.name for parameter in names]


def normaliseRms(x, shape, weight=None, eps=None):
    """torch.nn.functional.rms_norm as its documentation has it, in fp32."""
    wide = x.float()
    scale = wide.square().mean([-1 - i for i in range(len(shape))], keepdim=True)
    result = wide * torch.rsqrt(scale + (torch.finfo(x.dtype).eps if eps is None else eps))
    return (result if weight is None else result * weight).to(x.dtype)


def exportProgram(module, inputs):
    """What to export, and the types of its outputs. On a GPU PyTorch makes RMSNorm one
    operator, which its ONNX exporter does not know. Nothing is computed: on a CPU the largest
    products take minutes."""
    program = torch.export.export(module, inputs, strict=False)
    outputs, own = program.graph.output_node().args[0], program.graph_signature.user_outputs
    types = [node.meta["val"].dtype for node in outputs if node.name in own]
    norm = torch.ops.aten.rms_norm.default
    if any(node.target is norm for node in program.graph.nodes):
        return program.run_decompositions({norm: normaliseRms}), types
    return module, types


def exportOnnx(setting):
    """(path, seconds), once for all builds. Static shapes."""
    if setting.onnx:
        return setting.onnx
    kept = getKeptModel(setting)
    if kept and kept.exists():
        setting.onnx = kept, 0
        return setting.onnx
    path = setting.folder / "model.onnx"
    names = nameInputs(setting)
    start = time.monotonic()
    with torch.inference_mode(False), torch.no_grad():
        exported, types = exportProgram(setting.module, setting.inputs)
        torch.onnx.export(exported, setting.inputs, str(path), dynamo=True, verbose=False,
                          input_names=names, output_names=["out"],
                          external_data=countStateBytes(setting.module) > EXTERNAL_BYTES)
        restoreTypes(path, types)
    setting.onnx = path, time.monotonic() - start
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, kept.with_suffix(".part"))
        kept.with_suffix(".part").replace(kept)
    return setting.onnx


def countStateBytes(module):
    return sum(t.numel() * t.element_size() for t in module.state_dict().values())


def getKeptModel(setting):
    """Where the caches have it; None for one that holds weights, which each run draws."""
    if not setting.options.caches or countStateBytes(setting.module):
        return None
    return pathlib.Path(setting.options.caches, "models", f"{setting.workload.name}.onnx")


def restoreTypes(path, types):
    """Casts outputs to the module's own types: the exporter leaves a sum of 16 bits in fp32,
    and takes a cast behind it for one that changes nothing."""
    model = onnx.load(path, load_external_data=False)
    changed = {output.name: TORCH_TO_ONNX[dtype]
               for output, dtype in zip(model.graph.output, types)
               if output.type.tensor_type.elem_type != TORCH_TO_ONNX[dtype]}
    if not changed:
        return
    for node in model.graph.node:
        for names in (node.input, node.output):
            names[:] = [f"{name}_uncast" if name in changed else name for name in names]
    for output in model.graph.output:
        if output.name in changed:
            output.type.tensor_type.elem_type = changed[output.name]
            model.graph.node.append(onnx.helper.make_node(
                "Cast", [f"{output.name}_uncast"], [output.name], to=changed[output.name]))
    onnx.save(model, path)


def getTarget():
    major, minor = torch.cuda.get_device_capability()
    return "sm_90a" if (major, minor) == (9, 0) else f"sm_{major}{minor}"


def getOptions(setting):
    """Of `fusec compile` and `explain`."""
    isTf32 = setting.workload.dtype == "fp32" and not setting.workload.isExact
    tableType = setting.workload.sizes.get("tableType")
    return ["--arch=" + (setting.options.arch or getTarget()),
            *(["--precision=tf32"] if isTf32 else []),
            *(["--table-type=" + tableType] if tableType else [])]


def getCache(setting, build):
    return pathlib.Path(setting.options.caches or setting.folder, f"{build}-cache")


def compileBundle(setting, build, model):
    """(path, seconds). With an empty cache of kernels, or with one that is kept."""
    bundle = setting.folder / f"{build['name']}.fusec"
    cache = getCache(setting, build["name"])
    if not setting.options.caches:
        shutil.rmtree(cache, ignore_errors=True)
    environment = {**os.environ, "FUSEC_CACHE_DIR": str(cache)}
    for library in sorted(NVRTC_FOLDER.glob("libnvrtc.so.1[23]")):
        environment.setdefault("FUSEC_NVRTC", str(library))
    command = [build["fusec"], "compile", str(model), "-o", str(bundle), *getOptions(setting)]
    start = time.monotonic()
    process = subprocess.run(command, env=environment, text=True, check=False, timeout=140,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    seconds = time.monotonic() - start
    if process.returncode:
        lines = process.stdout.replace(str(setting.folder) + "/", "").splitlines()
        said = " ".join(line.strip() for line in lines if line.strip())
        raise RuntimeError(f"fusec compile: exit status {process.returncode}: {said[-600:]}")
    return bundle, seconds


@functools.lru_cache
def loadLibrary(library, runtime):
    """By the fusec_runtime.py of its own sources: the interface may have been another."""
    specification = importlib.util.spec_from_file_location("fusec_runtime_of_build", runtime)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module.Library(library)


def makeBuild(setting, build):
    """Of a build {name, fusec, library, runtime}."""
    model, exportSeconds = exportOnnx(setting)
    bundle, compileSeconds = compileBundle(setting, build, model)
    expected = listTensors(setting.made["eager"].run())
    session = loadLibrary(build["library"], build["runtime"]).load(bundle).session()
    outputs = [torch.empty_like(tensor, memory_format=torch.contiguous_format)
               for tensor in expected]
    inputs = [tensor.contiguous() for tensor in setting.inputs]
    for index, tensor in enumerate(inputs):
        session.bindInput(index, tensor.data_ptr(), TYPES[tensor.dtype], tensor.shape)
    for index, tensor in enumerate(outputs):
        session.bindOutput(index, tensor.data_ptr(), TYPES[tensor.dtype], tensor.shape)
    session.prepare()

    def run():
        session.run(torch.cuda.current_stream().cuda_stream)
        return outputs

    run()
    torch.cuda.synchronize()
    facts = {"export_s": exportSeconds, "compile_s": compileSeconds,
             "bundle_bytes": bundle.stat().st_size, "launches": session.launchCount(),
             "faults": session.faults()}
    if setting.options.builds:
        facts["program"] = programs.hashProgram(build, bundle)
    return Contender(run, facts,
                     poison=lambda: spoil(outputs),
                     profile=lambda: profileBuild(build, bundle, setting, getOptions(setting),
                                                  run, session.launchCount()))


def makeFusec(setting):
    return makeBuild(setting, {"name": "fusec", "fusec": setting.options.fusec,
                               "library": setting.options.library,
                               "runtime": builds.findRuntime(setting.options.fusec)})


def makeNamed(setting, name):
    """Another build, which --before or --build names."""
    contender = makeBuild(setting, setting.options.builds[name])
    contender.facts["build"] = name
    return contender


def makeNamedGraph(setting, name):
    needed = getNeeded(name)
    contender = capture(setting.made[needed])
    contender.facts["build"] = needed
    return contender


def makeFusecGraph(setting):
    return capture(setting.made["fusec"])


def makeDense(setting):
    if setting.workload.kind != "lora_layer":
        return None
    layer, (x,) = torch.nn.Sequential(setting.module.layer.linear, torch.nn.ReLU()), setting.inputs
    folder = setting.folder / "dense"
    folder.mkdir()
    contender = makeFusec(dataclasses.replace(setting, module=layer, folder=folder, onnx=None))
    contender.profile = None  # it is no row's
    weight, bias = (tensor.detach().double() for tensor in layer[0].parameters())
    contender.part = lambda: torch.relu(x.double() @ weight.t() + bias)
    return contender
