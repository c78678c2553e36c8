# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fusec: exported by PyTorch, compiled by `fusec compile`, run by the library
in this process on PyTorch's tensors and stream. Also `dense`: fusec on a layer
without its low-rank update."""

import dataclasses
import inspect
import os
import pathlib
import shutil
import subprocess
import time

import torch

import fusec_runtime
from peers import Contender
from peers.pytorch import capture

TYPES = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.int64: "i64",
         torch.int32: "i32"}
EXTERNAL_BYTES = 1 << 30  # a protobuf ends at 2 GB
NVRTC_FOLDER = pathlib.Path("/usr/local/cuda/lib64")


def exportOnnx(setting):
    """(path, seconds). Static shapes."""
    path = setting.folder / "model.onnx"
    names = list(inspect.signature(setting.module.forward).parameters)
    size = sum(t.numel() * t.element_size() for t in setting.module.state_dict().values())
    start = time.monotonic()
    with torch.inference_mode(False), torch.no_grad():
        torch.onnx.export(setting.module, setting.inputs, str(path), dynamo=True, verbose=False,
                          input_names=names, output_names=["out"],
                          external_data=size > EXTERNAL_BYTES)
    return path, time.monotonic() - start


def getTarget():
    major, minor = torch.cuda.get_device_capability()
    return "sm_90a" if (major, minor) == (9, 0) else f"sm_{major}{minor}"


def compileBundle(setting, model):
    """(path, seconds, what it printed). With an empty cache of kernels."""
    bundle = setting.folder / "model.fusec"
    cache = setting.folder / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    environment = {**os.environ, "FUSEC_CACHE_DIR": str(cache)}
    for library in sorted(NVRTC_FOLDER.glob("libnvrtc.so.1[23]")):
        environment.setdefault("FUSEC_NVRTC", str(library))
    command = [setting.options.fusec, "compile", str(model), "-o", str(bundle),
               "--arch=" + (setting.options.arch or getTarget())]
    if setting.workload.dtype == "fp32" and not setting.workload.isExact:
        command.append("--precision=tf32")
    start = time.monotonic()
    process = subprocess.run(command, env=environment, text=True, check=False, timeout=140,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    seconds = time.monotonic() - start
    if process.returncode:
        lines = process.stdout.replace(str(setting.folder) + "/", "").splitlines()
        said = " ".join(line.strip() for line in lines if line.strip())
        raise RuntimeError(f"fusec compile: exit status {process.returncode}: {said[-600:]}")
    return bundle, seconds


def makeFusec(setting):
    model, exportSeconds = exportOnnx(setting)
    bundle, compileSeconds = compileBundle(setting, model)
    expected = setting.made["eager"].run()
    session = fusec_runtime.Library(setting.options.library).load(bundle).session()
    output = torch.empty_like(expected, memory_format=torch.contiguous_format)
    inputs = [tensor.contiguous() for tensor in setting.inputs]
    for index, tensor in enumerate(inputs):
        session.bindInput(index, tensor.data_ptr(), TYPES[tensor.dtype], tensor.shape)
    session.bindOutput(0, output.data_ptr(), TYPES[output.dtype], output.shape)
    session.prepare()

    def run():
        session.run(torch.cuda.current_stream().cuda_stream)
        return output

    run()
    torch.cuda.synchronize()
    return Contender(run, {"export_s": exportSeconds, "compile_s": compileSeconds,
                           "bundle_bytes": bundle.stat().st_size,
                           "launches": session.launchCount(), "faults": session.faults()},
                     poison=lambda: output.fill_(float("nan")))


def makeFusecGraph(setting):
    return capture(setting.made["fusec"])


def makeDense(setting):
    if setting.workload.kind != "lora_layer":
        return None
    layer, (x,) = torch.nn.Sequential(setting.module.layer.linear, torch.nn.ReLU()), setting.inputs
    folder = setting.folder / "dense"
    folder.mkdir()
    contender = makeFusec(dataclasses.replace(setting, module=layer, folder=folder))
    weight, bias = (tensor.detach().double() for tensor in layer[0].parameters())
    contender.part = lambda: torch.relu(x.double() @ weight.t() + bias)
    return contender
