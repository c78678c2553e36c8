# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fusec's C interface (runtime/include/fusec/fusec.h) through ctypes.

    library = Library("libfusec_rt.so")
    model = library.load("model.fusec")
    session = model.session()
    session.bindInput(0, x.data_ptr(), "f16", x.shape)
    session.bindOutput(0, y.data_ptr(), "f16", y.shape)
    session.prepare()
    session.run(torch.cuda.current_stream().cuda_stream)

Device memory is given by address and stays the caller's.
"""

import ctypes
from ctypes import POINTER, Structure, byref, c_char_p, c_int32, c_int64, c_size_t, c_uint32
from ctypes import c_uint64, c_void_p

API_VERSION = 7
DTYPES = {"bool": 0, "i8": 1, "i16": 2, "i32": 3, "i64": 4, "u8": 5, "u16": 6, "u32": 7,
          "u64": 8, "f16": 9, "bf16": 10, "f32": 11, "f64": 12}
DEVICE_CPU, DEVICE_CUDA = 1, 2
MESSAGE_BYTES = 2048


class CTensor(Structure):
    _fields_ = [("struct_size", c_size_t), ("dtype", c_int32), ("device_type", c_int32),
                ("device_id", c_int32), ("rank", c_int32), ("sizes", POINTER(c_int64)),
                ("strides", POINTER(c_int64)), ("data", c_void_p), ("byte_offset", c_uint64)]


HASHES = ("auto", "always", "never")  # of weights: when they are checked


class CLoadOptions(Structure):
    _fields_ = [("struct_size", c_size_t), ("device", c_int32), ("hash_weights", c_int32),
                ("driver", c_char_p), ("progress", c_void_p), ("progress_context", c_void_p),
                ("device_memory", c_uint64), ("device_rows", c_void_p),
                ("device_row_count", c_size_t)]


class CTableInfo(Structure):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("dtype", c_int32),
                ("reserved", c_int32), ("rows", c_int64), ("bytes", c_uint64),
                ("device_rows", c_int64)]


class CDim(Structure):
    _fields_ = [("name", c_char_p), ("size", c_int64)]


class CPrepareOptions(Structure):
    _fields_ = [("struct_size", c_size_t), ("dims", POINTER(CDim)), ("dim_count", c_size_t),
                ("arena", c_void_p), ("arena_size", c_uint64)]


# name -> (result, arguments before the message's buffer and capacity); None for
# the result stands for a status with a message.
FUNCTIONS = {
    "fusec_model_load": (None, [c_char_p, POINTER(CLoadOptions), POINTER(c_void_p)]),
    "fusec_session_create": (None, [c_void_p, POINTER(c_void_p)]),
    "fusec_session_bind_input": (None, [c_void_p, c_uint32, POINTER(CTensor)]),
    "fusec_session_bind_output": (None, [c_void_p, c_uint32, POINTER(CTensor)]),
    "fusec_session_prepare": (None, [c_void_p, POINTER(CPrepareOptions)]),
    "fusec_session_output_sizes": (None, [c_void_p, c_uint32, POINTER(c_int64), c_int32]),
    "fusec_session_run": (None, [c_void_p, c_void_p]),
    "fusec_session_faults": (None, [c_void_p, POINTER(c_uint64)]),
    "fusec_session_launch_count": (c_uint32, [c_void_p]),
    "fusec_session_free": (ctypes.c_int, [c_void_p]),  # void
    "fusec_model_free": (ctypes.c_int, [c_void_p]),  # void
    "fusec_model_target": (c_char_p, [c_void_p]),
    "fusec_model_input_count": (c_uint32, [c_void_p]),
    "fusec_model_output_count": (c_uint32, [c_void_p]),
    "fusec_model_update_rows": (None, [c_void_p, c_char_p, POINTER(c_int64), POINTER(CTensor),
                                       c_void_p]),
    "fusec_model_table_count": (c_uint32, [c_void_p]),
    "fusec_model_table_info": (None, [c_void_p, c_uint32, POINTER(CTableInfo)]),
    "fusec_status_name": (c_char_p, [c_int32]),
    "fusec_api_version": (c_uint32, []),
}


def describe(address, dtype, sizes, deviceType, device):
    return CTensor(ctypes.sizeof(CTensor), DTYPES[dtype], deviceType, device, len(sizes),
                   (c_int64 * len(sizes))(*sizes), None, address, 0)


class FusecError(RuntimeError):
    def __init__(self, status, name, message):
        super().__init__(f"{name}: {message}")
        self.status = status


class Library:
    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(self.library, name)
            function.restype = c_int32 if result is None else result
            function.argtypes = arguments + ([c_char_p, c_size_t] if result is None else [])
        version = self.library.fusec_api_version()
        # Within a thousand, later versions only add.
        if version < API_VERSION or version // 1000 != API_VERSION // 1000:
            raise RuntimeError(f"{path}: expected version {API_VERSION} of the interface "
                               f"or a later one that agrees with it, got {version}")
        self.message = ctypes.create_string_buffer(MESSAGE_BYTES)

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments, self.message, MESSAGE_BYTES)
        if status:
            statusName = self.library.fusec_status_name(status)
            raise FusecError(status, statusName.decode(),
                             self.message.value.decode(errors="replace"))

    def load(self, path, device=0, driver=None, deviceMemory=0, hashWeights="auto"):
        """`deviceMemory` bytes for weights, 0: as many as they take."""
        options = CLoadOptions(struct_size=ctypes.sizeof(CLoadOptions), device=device,
                               hash_weights=HASHES.index(hashWeights),
                               driver=driver.encode() if driver else None,
                               device_memory=deviceMemory)
        handle = c_void_p()
        self.call("fusec_model_load", str(path).encode(), byref(options), byref(handle))
        return Model(self, handle, device)


class Model:
    def __init__(self, library, handle, device):
        self.library, self.handle, self.device = library, handle, device

    def __del__(self):
        self.library.library.fusec_model_free(self.handle)

    def target(self):
        return self.library.library.fusec_model_target(self.handle).decode()

    def inputCount(self):
        return self.library.library.fusec_model_input_count(self.handle)

    def outputCount(self):
        return self.library.library.fusec_model_output_count(self.handle)

    def tables(self):
        """A CTableInfo for each weight that is read by rows."""
        infos = []
        for index in range(self.library.library.fusec_model_table_count(self.handle)):
            infos.append(CTableInfo(struct_size=ctypes.sizeof(CTableInfo)))
            self.library.call("fusec_model_table_info", self.handle, index, byref(infos[-1]))
        return infos

    def updateRows(self, name, ids, address, dtype, sizes, stream=0, onHost=False):
        """Row i of the memory becomes row ids[i], see fusec_model_update_rows()."""
        tensor = describe(address, dtype, sizes, DEVICE_CPU if onHost else DEVICE_CUDA,
                          0 if onHost else self.device)
        self.library.call("fusec_model_update_rows", self.handle, name.encode(),
                          (c_int64 * len(ids))(*ids), byref(tensor), stream)

    def session(self):
        handle = c_void_p()
        self.library.call("fusec_session_create", self.handle, byref(handle))
        return Session(self, handle)


class Session:
    """Belongs to one thread at a time and has one run in flight."""

    def __init__(self, model, handle):
        self.model, self.library, self.handle = model, model.library, handle

    def __del__(self):
        self.library.library.fusec_session_free(self.handle)

    def bind(self, function, index, address, dtype, sizes):
        tensor = describe(address, dtype, sizes, DEVICE_CUDA, self.model.device)
        self.library.call(function, self.handle, index, byref(tensor))

    def bindInput(self, index, address, dtype, sizes):
        self.bind("fusec_session_bind_input", index, address, dtype, sizes)

    def bindOutput(self, index, address, dtype, sizes):
        self.bind("fusec_session_bind_output", index, address, dtype, sizes)

    def prepare(self, dims=None):
        pairs = [CDim(name.encode(), size) for name, size in (dims or {}).items()]
        options = CPrepareOptions(ctypes.sizeof(CPrepareOptions), (CDim * len(pairs))(*pairs),
                                  len(pairs), None, 0)
        self.library.call("fusec_session_prepare", self.handle, byref(options))

    def outputSizes(self, index, rank):
        sizes = (c_int64 * rank)()
        self.library.call("fusec_session_output_sizes", self.handle, index, sizes, rank)
        return list(sizes)

    def run(self, stream=0):
        """Enqueues one run."""
        self.library.call("fusec_session_run", self.handle, stream)

    def launchCount(self):
        return self.library.library.fusec_session_launch_count(self.handle)

    def faults(self):
        """Indices out of range so far; the caller has synchronised."""
        faults = c_uint64()
        self.library.call("fusec_session_faults", self.handle, byref(faults))
        return faults.value
