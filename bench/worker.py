"""Runs one Python approach for the harness: python3 bench/worker.py lessons/05_reduction/torch.py

The harness (bench/worker.c) starts one such process per file and talks to it over a socket on standard input and output: one
JSON line asks, one JSON line answers. The socket also carries the arrays, as open files in memory that both sides map, so that
nothing is copied through the pipe and no file has to be removed. An approach is a file of plain functions:

    IDEA = "one line for tables"
    FRAMEWORK = "torch"           who owns the device: "torch", "cupy" or "cpu" (the default); it brings the defaults marked *
    unavailable()          *      None, or a sentence why this machine can't run it
    refuse(case)                  None, or a sentence why it can't do this case
    allocate(case)                -> state: everything that doesn't depend on the inputs' values
    upload(state, arrays)         host arrays (numpy, flat, in the case's precision) to where `run` wants them
    run(state)                    the work; may return before it is finished
    synchronize(state)     *      waits for it
    time_batch(state, batch) *    seconds of `batch` runs on the device
    download(state)               -> array or sequence of arrays, in the case's precision, in C order, as long as the output

`case` has problem, variant (its name or None), n, precision ("f32"), dtype ("float32") and the problem's parameters by name
(case.length). A column-major n x d matrix is array.reshape(d, n).T: no copy."""
import gc
import importlib.util
import json
import mmap
import os
import signal
import socket
import sys
import time
from types import SimpleNamespace

TYPES = {"f32": ("f", "float32"), "f64": ("d", "float64")}  # by precision: the buffer protocol's letter and numpy's name


class Refused(Exception):
    """This approach can't run here, or not this case: a skipped row, not a failed one."""


class Cpu:
    def unavailable():
        return None

    def synchronize(state):
        pass

    def time_batch(run, state, batch):
        start = time.perf_counter()
        for _ in range(batch):
            run(state)
        return time.perf_counter() - start

    def release():
        pass


class Torch:
    def unavailable():
        import torch
        return None if torch.cuda.is_available() else "torch sees no CUDA device"

    def synchronize(state):
        import torch
        torch.cuda.synchronize()

    def time_batch(run, state, batch):
        import torch
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        start.record()
        for _ in range(batch):
            run(state)
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / 1e3

    def release():
        import torch
        torch.cuda.empty_cache()


class Cupy:
    def unavailable():
        import cupy
        try:
            return None if cupy.cuda.runtime.getDeviceCount() > 0 else "cupy sees no CUDA device"
        except cupy.cuda.runtime.CUDARuntimeError as error:
            return f"cupy sees no CUDA device: {one_line(error)}"

    def synchronize(state):
        import cupy
        cupy.cuda.get_current_stream().synchronize()

    def time_batch(run, state, batch):
        import cupy
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        cupy.cuda.get_current_stream().synchronize()
        start.record()
        for _ in range(batch):
            run(state)
        end.record()
        end.synchronize()
        return cupy.cuda.get_elapsed_time(start, end) / 1e3

    def release():
        import cupy
        cupy.get_default_memory_pool().free_all_blocks()


FRAMEWORKS = {"cpu": Cpu, "torch": Torch, "cupy": Cupy}


def one_line(value):
    return " ".join(str(value).split())[:300]


def load(path):
    """The file as a module. Lessons hold a torch.py: the name it gets here must not be torch, nor may its folder be searched."""
    name = "approach_" + os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        raise Refused(f"{os.path.basename(sys.executable)} has no module {error.name}") from error
    return module


class Approach:
    """The file's functions, with the framework's defaults for those that it leaves out."""

    def __init__(self, path):
        module = load(path)
        framework = FRAMEWORKS[getattr(module, "FRAMEWORK", "cpu")]
        self.allocate, self.upload, self.run, self.download = module.allocate, module.upload, module.run, module.download
        self.idea = one_line(getattr(module, "IDEA", ""))
        self.refuse = getattr(module, "refuse", lambda case: None)
        self.unavailable = getattr(module, "unavailable", framework.unavailable)
        self.synchronize = getattr(module, "synchronize", framework.synchronize)
        self.time_batch = getattr(module, "time_batch", lambda state, batch: framework.time_batch(self.run, state, batch))
        self.release = framework.release
        refuse(self.unavailable())


def refuse(reason):
    if reason:
        raise Refused(reason)


def view(mapped, precision):
    """A flat array over the mapped file; a plain memoryview where there's no numpy."""
    letter, dtype = TYPES[precision]
    try:
        import numpy
    except ModuleNotFoundError:
        return memoryview(mapped).cast(letter)
    return numpy.frombuffer(mapped, dtype=dtype)


def store(results, mapped, precision):
    """The results one after the other into the mapped file, if they are of the right type and exactly fill it."""
    letter = TYPES[precision][0]
    views = [memoryview(x) for x in (results if isinstance(results, (list, tuple)) else [results])]
    for x in views:
        if x.format != letter:
            raise TypeError(f"download gave elements of type '{x.format}', the case asks for '{letter}' ({precision})")
    given = sum(x.nbytes for x in views)
    if given != len(mapped):
        raise ValueError(f"download gave {given} bytes, the output has {len(mapped)}")
    at = 0
    for x in views:
        mapped[at:at + x.nbytes] = x.cast("B") if x.ndim > 0 and x.c_contiguous else x.tobytes()
        at += x.nbytes
    return given


class Worker:
    def __init__(self, path):
        self.path, self.approach = path, None
        self.drop()

    def drop(self):
        self.case = self.state = self.inputs = self.output = None

    def probe(self, request, files):
        if self.approach is None:
            self.approach = Approach(self.path)
        return {"idea": self.approach.idea}

    def allocate(self, request, files):
        self.probe(request, files)
        dtype = TYPES[request["precision"]][1]
        fixed = {key: request[key] for key in ("problem", "variant", "n", "precision")}
        self.case = SimpleNamespace(**{**request["parameters"], **fixed, "dtype": dtype})
        refuse(self.approach.refuse(self.case))
        mapped = [mmap.mmap(file, 0) for file in files]
        self.inputs = [view(m, self.case.precision) for m in mapped[:-1]]
        self.output = mapped[-1]
        self.state = self.approach.allocate(self.case)
        return {}

    def upload(self, request, files):
        self.approach.upload(self.state, self.inputs)
        self.approach.synchronize(self.state)
        return {}

    def run(self, request, files):
        self.approach.run(self.state)
        self.approach.synchronize(self.state)
        return {}

    def timed_run(self, request, files):
        return {"seconds": float(self.approach.time_batch(self.state, request["batch"]))}

    def download(self, request, files):
        return {"bytes": store(self.approach.download(self.state), self.output, self.case.precision)}

    def release(self, request, files):
        self.drop()
        gc.collect()
        self.approach.release()
        return {}


def receive(channel):
    """The next request and the files that came with it; None when the harness is gone."""
    line, files = b"", []
    while not line.endswith(b"\n"):
        part, more, _, _ = socket.recv_fds(channel, 1 << 16, 8)
        if not part:
            return None, files
        line += part
        files += more
    return json.loads(line), files


def answer(worker, request, files):
    """What goes back: the operation's own fields, or the error as one line and its kind."""
    try:
        reply = getattr(worker, request["op"])(request, files)
    except Refused as error:
        reply = {"error": one_line(error), "kind": "unavailable"}
    except Exception as error:
        memory = isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__
        reply = {"error": f"{type(error).__name__}: {one_line(error)}", "kind": "memory" if memory else "failed"}
    for file in files:
        os.close(file)
    return {"id": request["id"], **reply}


def private_channel():
    """The socket on standard input and output, kept away from whoever prints or reads."""
    channel = socket.socket(fileno=os.dup(0))
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    return channel


def die_with_parent():
    """A worker that hangs must not outlive a harness that was killed."""
    try:
        import ctypes
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
    except (ImportError, OSError, AttributeError):
        pass


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: worker.py FILE, started by the harness with a socket as its standard input")
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [folder for folder in sys.path if folder and os.path.abspath(folder) != here]
    sys.dont_write_bytecode = True
    die_with_parent()
    try:
        channel = private_channel()
    except OSError:
        sys.exit("worker.py: standard input is not a socket; the harness starts this program (bench run --approach NAME)")
    worker = Worker(sys.argv[1])
    while True:
        request, files = receive(channel)
        if request is None or request["op"] == "quit":
            sys.stderr.flush()
            os._exit(0)  # at once: some frameworks need seconds to take themselves apart
        channel.sendall(json.dumps(answer(worker, request, files)).encode() + b"\n")


if __name__ == "__main__":
    main()
