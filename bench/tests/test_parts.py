# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tensors.py and embeddings.py say of a kind is what PyTorch and JAX make of it."""

import importlib.util
import os
import time
import unittest
import unittest.mock

from workloads import LISTED, WORKLOADS


def hasPackages(*names):
    return all(importlib.util.find_spec(name) for name in names)


LISTING = [workload for workload in WORKLOADS.values() if workload.kind in LISTED]


def listOutputs(workload):
    """(shape, type) of each."""
    _, outputs = LISTED[workload.kind](**workload.sizes)
    return [(tensor.shape, tensor.dtype or workload.dtype) for tensor in outputs]


@unittest.skipUnless(hasPackages("torch"), "no PyTorch")
class TorchTest(unittest.TestCase):
    def testKinds(self):
        import part_modules
        import tensors
        self.assertEqual(set(part_modules.EXPRESSIONS), set(tensors.TENSORS))

    def testShapesAndTypes(self):
        import torch
        import modules
        import part_modules
        import peers
        names = {dtype: name for name, dtype in part_modules.TYPES.items()}
        for workload in LISTING:
            with torch.device("meta"), torch.no_grad():
                module, inputs = modules.build(workload)
                outputs = peers.listTensors(module(*inputs))
                wide = peers.listTensors(modules.computeReference(module, inputs))
            self.assertEqual([(tuple(each.shape), names[each.dtype]) for each in outputs],
                             listOutputs(workload), workload.name)
            self.assertTrue(all(each.is_contiguous() for each in outputs), workload.name)
            given = {each.untyped_storage()._cdata for each in (*inputs, *module.parameters())}
            self.assertTrue(given.isdisjoint(each.untyped_storage()._cdata for each in outputs),
                            f"{workload.name}: checks overwrite outputs")
            self.assertEqual([each.shape for each in wide], [each.shape for each in outputs],
                             workload.name)

    def testSmallRowsAreOfTheirKind(self):
        import accept
        for workload in LISTING:
            small = accept.shrink(workload)
            self.assertEqual(set(small.sizes), set(workload.sizes), workload.name)
            self.assertLess(sum(tensor.count() for side in LISTED[small.kind](**small.sizes)
                                for tensor in side), 1 << 26, workload.name)

    def testLookupsOfOthersSayWhereTheyAreMissing(self):
        import peers
        with unittest.mock.patch.dict(os.environ):
            for name, variable in (("fbgemm", "FUSEC_BENCH_FBGEMM"),
                                   ("cuembed", "FUSEC_BENCH_CUEMBED")):
                os.environ.pop(variable, None)
                make = importlib.import_module(f"peers.{name}")
                with self.assertRaisesRegex(RuntimeError, f"{variable}: expected the folder"):
                    make.load() if name == "fbgemm" else make.loadLibrary("sm_90")
                rope = peers.Setting(WORKLOADS["rope_fwd"], None, (), None, None)
                self.assertIsNone(peers.make(name, rope))

    def testErrors(self):
        import torch
        from worker import measureErrors
        one, same = torch.tensor(2.0), torch.tensor([3.0, 3.0])
        self.assertEqual(measureErrors(torch.tensor(1.0), one), 0.5)
        self.assertEqual(measureErrors(same, same.double()), 0)
        ids = torch.tensor([1, 2])
        self.assertEqual(measureErrors(ids, ids), 0)
        self.assertEqual(measureErrors((ids, torch.tensor([1, 3])), (ids, ids)), 1)
        values, nan = torch.tensor([1.0, 2.0]), torch.tensor([1.0, float("nan")])
        for got in ((values, nan), (nan, values)):
            self.assertNotEqual(measureErrors(got, (values, values)), 0)
            self.assertFalse(measureErrors(got, (values, values)) < 1)
        with self.assertRaises(ValueError):
            measureErrors((values,), (values, values))


@unittest.skipUnless(hasPackages("torch", "jax"), "no JAX")
class JaxTest(unittest.TestCase):
    def testShapesAndTypes(self):
        import jax
        import tensors
        from peers import xla
        types = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "i64": "int64",
                 "i32": "int32", "i8": "int8", "bool": "bool"}
        for workload in LISTING:
            declared, _ = LISTED[workload.kind](**workload.sizes)
            made = [jax.ShapeDtypeStruct(each.shape, types[each.dtype or workload.dtype])
                    for each in declared]
            inputs = [each for each, tensor in zip(made, declared) if not tensor.isWeight]
            # JAX has floats of a table whose integers fusec reads.
            weights = [each for each, tensor in zip(made, declared)
                       if tensor.isWeight and not tensor.dtype]
            name = "tables.{}.weight".format if workload.rows == "embeddings" else \
                tensors.nameWeight
            state = {name(i): each for i, each in enumerate(weights)}
            outputs = jax.eval_shape(
                lambda state, *inputs, each=workload: xla.KINDS[each.kind](
                    state, *inputs, **each.sizes), state, *inputs)
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
            self.assertEqual([(each.shape, str(each.dtype)) for each in outputs],
                             [(shape, types[dtype]) for shape, dtype in listOutputs(workload)],
                             workload.name)

    def testFlushesHideTheHost(self):
        import jax
        from peers import xla
        with unittest.mock.patch.object(xla, "FLUSH_BYTES", 1 << 20):
            flush = xla.Flush()
        place = flush.buffer.unsafe_buffer_pointer()
        flush.hide(lambda: time.sleep(0.002))
        self.assertGreaterEqual(flush.times * flush.ms, 2)
        flush.enqueue()
        self.assertEqual(jax.block_until_ready(flush.buffer).nbytes, 1 << 20)
        self.assertEqual(flush.buffer.unsafe_buffer_pointer(), place)
