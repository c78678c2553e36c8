# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The workloads as PyTorch modules with random weights and inputs.

Weights are drawn so that activations neither vanish nor saturate: what ends in
a sigmoid then still shows an error made in the first layer.
"""

import itertools

import torch
from torch import nn

import embeddings
import part_modules
import workloads

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
ACTIVATIONS = {"relu": nn.ReLU, "gelu": lambda: nn.GELU(approximate="tanh")}


def makeLayers(widths, last):
    layers = []
    for i, (k, n) in enumerate(zip(widths, widths[1:])):
        layer = nn.Linear(k, n)
        nn.init.normal_(layer.weight, std=(2 / k) ** 0.5)
        nn.init.normal_(layer.bias, std=0.1)
        layers += [layer, nn.ReLU()] if i < len(widths) - 2 else [layer]
    return nn.Sequential(*layers, *last)


def makeTables(width):
    tables = nn.ModuleList(nn.Embedding(rows, width) for rows in workloads.TABLE_ROWS)
    for table in tables:
        nn.init.normal_(table.weight, std=width ** -0.25)  # dots of variance 1
    return tables


class OuterDlrm(nn.Module):
    """Modulus hash, outer product of all features with themselves."""

    def __init__(self, bottom, top, width):
        super().__init__()
        self.bottom = makeLayers([workloads.DENSE_FEATURES, *bottom, width], [])
        self.tables = makeTables(width)
        across = width * workloads.VECTORS
        self.top = makeLayers([across * across, *top, 1], [nn.Sigmoid()])
        self.register_buffer("rows", torch.tensor(workloads.TABLE_ROWS))

    def forward(self, dense, sparse):
        ids = (sparse + 1) % self.rows
        parts = [table(ids[:, i]) for i, table in enumerate(self.tables)]
        x = torch.cat([self.bottom(dense), *parts], dim=-1).unsqueeze(2)
        return self.top(torch.flatten(torch.bmm(x, x.transpose(1, 2)), 1)).squeeze()


class DotDlrm(nn.Module):
    """Pairwise dots of 27 vectors, the triangle below the diagonal."""

    def __init__(self, bottom, top, width):
        super().__init__()
        self.bottom = makeLayers([workloads.DENSE_FEATURES, *bottom, width], [nn.ReLU()])
        self.tables = makeTables(width)
        i, j = torch.tril_indices(workloads.VECTORS, workloads.VECTORS, -1)
        self.register_buffer("i", i)
        self.register_buffer("j", j)
        self.register_buffer("rows", torch.tensor(workloads.TABLE_ROWS))
        self.top = makeLayers([width + workloads.PAIRS, *top, 1], [nn.Sigmoid()])

    def forward(self, dense, sparse):
        ids = sparse % self.rows
        x = self.bottom(dense)
        vectors = torch.stack([x] + [table(ids[:, i]) for i, table in enumerate(self.tables)], 1)
        dots = torch.bmm(vectors, vectors.transpose(1, 2))[:, self.i, self.j]
        return self.top(torch.cat([x, dots], 1)).squeeze()


class LoraLinear(nn.Module):
    def __init__(self, k, n, rank):
        super().__init__()
        self.linear = nn.Linear(k, n)
        self.a = nn.Parameter(torch.randn(k, rank) * k ** -0.5)
        self.b = nn.Parameter(torch.randn(rank, n) * rank ** -0.5)

    def forward(self, x):
        return self.linear(x) + 0.5 * (x @ self.a @ self.b)


class Lora(nn.Module):
    def __init__(self, width, rank):
        super().__init__()
        self.first = LoraLinear(width, width // 2, rank)
        self.second = LoraLinear(width // 2, width // 4, rank)

    def forward(self, x):
        return torch.sigmoid(self.second(torch.relu(self.first(x))))


class LoraLayer(nn.Module):
    def __init__(self, k, n, rank):
        super().__init__()
        self.layer = LoraLinear(k, n, rank)

    def forward(self, x):
        return torch.relu(self.layer(x))


class Gating(nn.Module):
    def __init__(self, k, n):
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(k, n) * k ** -0.5)
        self.w2 = nn.Parameter(torch.randn(k, n) * k ** -0.5)
        self.b1 = nn.Parameter(torch.randn(n))
        self.b2 = nn.Parameter(torch.randn(n))

    def forward(self, x):
        return torch.sigmoid(x @ self.w1 + self.b1) * (x @ self.w2 + self.b2)


class SwiGlu(nn.Module):
    def __init__(self, k, n):
        super().__init__()
        self.gate = nn.Linear(k, n, bias=False)
        self.up = nn.Linear(k, n, bias=False)

    def forward(self, x):
        return nn.functional.silu(self.gate(x)) * self.up(x)


class LinearActivation(nn.Module):
    def __init__(self, k, n, activation):
        super().__init__()
        self.linear = nn.Linear(k, n)
        self.activation = ACTIVATIONS[activation]()

    def forward(self, x):
        return self.activation(self.linear(x))


class RmsNormLinear(nn.Module):
    def __init__(self, k, n):
        super().__init__()
        self.weight = nn.Parameter(1 + 0.1 * torch.randn(k))
        self.linear = nn.Linear(k, n, bias=False)

    def forward(self, x):
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        scale = torch.rsqrt((wide * wide).mean(-1, keepdim=True) + 1e-6).to(x.dtype)
        return self.linear(x * scale * self.weight)


class AddMulSigmoid(nn.Module):
    def forward(self, x, y, bias):
        return torch.sigmoid(x + 0.5 * y + bias)


class Rope(nn.Module):
    """Halves rotated; x [batch, sequence, heads, size], angles [sequence, size / 2]."""

    def forward(self, x, angles):
        cos, sin = angles.cos()[None, :, None, :], angles.sin()[None, :, None, :]
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


class RopeBackward(nn.Module):
    def forward(self, dy, angles):
        cos, sin = angles.cos()[None, :, None, :], angles.sin()[None, :, None, :]
        a, b = dy.chunk(2, dim=-1)
        return torch.cat([a * cos + b * sin, b * cos - a * sin], -1)


class Bags(nn.Module):
    """Of each table its columns of ids, the vectors summed unless there is one each."""

    def __init__(self, counts, width, tables, isSummed):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, width) for rows in tables)
        ends = list(itertools.accumulate(counts))
        self.columns, self.isSummed = list(zip([0, *ends], ends)), isSummed

    def forward(self, ids):
        if self.isSummed:
            parts = [table(ids[:, first:end]).sum(1)
                     for table, (first, end) in zip(self.tables, self.columns)]
        else:
            parts = [table(ids[:, first]) for table, (first, _) in zip(self.tables, self.columns)]
        return torch.cat(parts, 1)


def drawNarrow(module, tableType):
    """Integers times a power of two for each row, whose largest is the type's: what
    quantises the tables finds just these, and all contenders compute the same."""
    bits, most = embeddings.NARROW[tableType]
    for table in module.tables:
        rows, width = table.weight.shape
        integers = torch.randint(-most, most + 1, (rows, width))
        integers[:, 0] = most
        table.weight.detach().copy_(integers * 2.0 ** torch.randint(-bits, 3 - bits, (rows, 1)))


def drawIds(batch, counts, tables):
    return torch.cat([torch.randint(0, rows, (batch, count))
                      for count, rows in zip(counts, tables)], 1)


def drawSamples(batch, dtype):
    dense = torch.rand(batch, workloads.DENSE_FEATURES, dtype=dtype)
    return dense, torch.randint(0, 2 ** 31, (batch, len(workloads.TABLE_ROWS)))


def build(workload):
    """(module, inputs) on the current default device."""
    if workload.rows == "parts":
        return part_modules.build(workload)
    sizes, dtype = dict(workload.sizes), DTYPES[workload.dtype]
    if workload.kind in ("outer_dlrm", "dot_dlrm"):
        batch = sizes.pop("batch")
        module = (OuterDlrm if workload.kind == "outer_dlrm" else DotDlrm)(**sizes)
        inputs = drawSamples(batch, dtype)
    elif workload.rows == "embeddings":
        batch, tableType = sizes.pop("batch"), sizes.pop("tableType", None)
        module = Bags(**sizes, isSummed=workload.kind == "bags")
        if tableType:
            drawNarrow(module, tableType)
        inputs = (drawIds(batch, sizes["counts"], sizes["tables"]),)
    elif workload.kind in ("rope", "rope_backward"):
        module = Rope() if workload.kind == "rope" else RopeBackward()
        batch, sequence, heads, size = sizes.values()
        inputs = (torch.randn(batch, sequence, heads, size, dtype=dtype),
                  torch.randn(sequence, size // 2, dtype=dtype))
    elif workload.kind == "add_mul_sigmoid":
        module, (m, n) = AddMulSigmoid(), sizes.values()
        inputs = tuple(torch.randn(*shape, dtype=dtype) for shape in ((m, n), (m, n), (n,)))
    else:
        m = sizes.pop("m")
        module = {"lora": Lora, "lora_layer": LoraLayer, "gating": Gating, "swiglu": SwiGlu,
                  "linear": LinearActivation,
                  "rmsnorm_linear": RmsNormLinear}[workload.kind](**sizes)
        inputs = (torch.randn(m, sizes.get("k", sizes.get("width")), dtype=dtype),)
    return module.to(dtype).eval(), inputs


def computeReference(module, inputs):
    """The result in double precision, from the same weights and inputs."""
    def widen(tensor):
        return tensor.double() if tensor.is_floating_point() else tensor

    state = {name: widen(tensor) for name, tensor in module.state_dict().items()}
    return torch.func.functional_call(module, state, tuple(map(widen, inputs)))
