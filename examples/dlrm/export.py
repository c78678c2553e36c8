# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports a DLRM (deep learning recommendation model) from PyTorch to ONNX.

  export.py OUT          writes OUT/dlrm.onnx and OUT/dlrm.npz

Thirteen dense features pass an MLP; twenty-six categorical ones are hashed into
tables by their modulus; the outer product of all of it with itself feeds the
last MLP. dlrm.npz holds inputs and PyTorch's prediction, for `fusec verify`.
Needs torch, onnx, onnxscript and numpy.
"""

import pathlib
import sys

import numpy
import torch
from torch import nn

DENSE, WIDTH = 13, 4
ROWS = (7, 3, 100, 80, 30, 24, 125, 63, 3, 93, 56, 90, 31, 27, 149, 70, 10, 56, 21, 4, 75, 18,
        15, 28, 105, 14)


class Dlrm(nn.Module):
    def __init__(self):
        super().__init__()
        self.bottom = nn.Sequential(nn.Linear(DENSE, 32), nn.ReLU(), nn.Linear(32, WIDTH))
        self.tables = nn.ModuleList(nn.Embedding(rows, WIDTH) for rows in ROWS)
        self.register_buffer("rows", torch.tensor(ROWS))
        features = WIDTH * (1 + len(ROWS))
        self.top = nn.Sequential(nn.Linear(features * features, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, dense, sparse):
        ids = sparse % self.rows
        rows = [table(ids[:, i]) for i, table in enumerate(self.tables)]
        x = torch.cat([self.bottom(dense), *rows], dim=1)
        products = x.unsqueeze(2) * x.unsqueeze(1)
        return torch.sigmoid(self.top(products.flatten(1))).squeeze(1)


def main(out):
    torch.manual_seed(0)
    model = Dlrm().eval()
    inputs = (torch.randn(8, DENSE), torch.randint(0, 1 << 40, (8, len(ROWS))))
    batch = torch.export.Dim("batch")
    torch.onnx.export(model, inputs, out / "dlrm.onnx", dynamo=True,
                      input_names=["dense", "sparse"], output_names=["prob"],
                      dynamic_shapes={"dense": {0: batch}, "sparse": {0: batch}},
                      external_data=False)
    with torch.no_grad():
        prob = model(*inputs)
    numpy.savez(out / "dlrm.npz", dense=inputs[0].numpy(), sparse=inputs[1].numpy(),
                prob=prob.numpy())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(pathlib.Path(sys.argv[1]))
