# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The bare product of a linear layer, by cuBLAS's own choice of kernel.

torch.mm asks cuBLASLt only where it is the preferred library; else it calls
cublasGemmEx, and cublasSgemm with TF32 allowed for fp32.
"""

import torch

from peers import Contender


def makeCublas(setting):
    if setting.workload.kind != "linear":
        return None
    preferred = torch.backends.cuda.preferred_blas_library()
    if preferred != torch._C._BlasBackend.Cublas:
        raise RuntimeError(f"torch.mm calls {preferred}, expected cuBLAS")
    weight, (x,) = setting.module.linear.weight.detach(), setting.inputs
    y = torch.empty(x.shape[0], weight.shape[0], device=x.device, dtype=x.dtype)
    return Contender(lambda: torch.mm(x, weight.t(), out=y),
                     poison=lambda: y.fill_(float("nan")),
                     part=lambda: x.double() @ weight.double().t())
