# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The bare product of a linear layer, by cuBLAS's own choice of kernel.

torch.mm asks cuBLASLt only where it is the preferred library; else it calls
cublasGemmEx, and for fp32 cublasSgemm, with TF32 where the workload allows it.
"""

import torch

from peers import Contender


def makeCublas(setting):
    if setting.workload.kind != "linear":
        return None
    if torch.backends.cuda.preferred_blas_library() == torch._C._BlasBackend.Cublaslt:
        raise RuntimeError("torch.mm prefers cuBLASLt here")
    weight, (x,) = setting.module.linear.weight.detach().t(), setting.inputs
    y = torch.empty(x.shape[0], weight.shape[1], device=x.device, dtype=x.dtype)
    return Contender(lambda: torch.mm(x, weight, out=y), poison=lambda: y.fill_(float("nan")),
                     part=lambda: x.double() @ weight.double())
