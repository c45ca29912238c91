"""c = a + scale b in plain Python, or whatever misbehaviour the case's variant names; for bench/test_worker.c."""
import array
import os
import signal
import socket
import sys
import time

IDEA = "a loop, and mischief"


def refuse(case):
    return "it does not feel like it" if case.variant == "refuses" else None


def allocate(case):
    if case.variant == "exhausts memory":
        raise MemoryError("the device is full")
    if case.variant == "prints":
        print("hello\n" * 100000)
        print("hello\n" * 100000, file=sys.stderr)
        sys.stdout.flush()
        os.write(1, b"and past Python's own buffers\n")
    return {"case": case}


def upload(state, arrays):
    state["arrays"] = arrays


def write_to_the_socket(text):
    """What a framework in C could do: find the descriptor of the socket and write to it."""
    for fd in range(3, 64):
        try:
            socket.socket(fileno=os.dup(fd)).send(text)
        except OSError:
            pass


def run(state):
    case, (a, b) = state["case"], state["arrays"]
    if case.variant == "crashes":
        print("this is how it went wrong", file=sys.stderr, flush=True)
        os._exit(3)
    if case.variant == "is killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if case.variant == "hangs":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(1000)
    if case.variant == "raises":
        raise ValueError("two\nlines")
    if case.variant == "writes garbage":
        write_to_the_socket(b"segmentation {fault}\n")
    if case.variant == "answers twice":
        write_to_the_socket(b'{"id": 1}\n')
    if case.variant == "never ends a line":
        write_to_the_socket(b"x" * 20000)
    state["c"] = array.array("f" if case.precision == "f32" else "d", (x + case.scale * y for x, y in zip(a, b)))
    if case.variant == "wrong":
        state["c"][-1] = 0
    if case.variant == "tells its process":
        state["c"][0] = os.getpid()
    if case.variant == "tells its cores":
        state["c"][0] = len(os.sched_getaffinity(0))


def time_batch(state, batch):
    seconds = {"negative seconds": -1.0, "absurd seconds": 1e6, "no seconds": float("nan"), "text for seconds": "fast"}
    if state["case"].variant in seconds:
        return seconds[state["case"].variant]
    start = time.perf_counter()
    for _ in range(batch):
        run(state)
    return time.perf_counter() - start


def download(state):
    case, c = state["case"], state["c"]
    if case.variant == "too short":
        return c[:-1]
    if case.variant == "too long":
        return [c, c[:1]]
    if case.variant == "another type":
        return array.array("i", [0] * len(c))
    if case.variant == "two parts":
        return [c[:1], c[1:]]
    return c
