# Run by gdb: stops a program many times and writes what a sample of each stop
# would have, and the frames that gdb finds.
import gdb
import os

# In perf's order, without flags and segments.
NAMES = ["rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "rip"]
NAMES += ["r%d" % number for number in range(8, 16)]
MOST_STACK = 1 << 16


def write(out, last_maps):
    inferior = gdb.selected_inferior()
    with open("/proc/%d/maps" % inferior.pid) as file:
        maps = file.read()
    if maps != last_maps:
        out.write("maps\n" + maps + "end\n")
    frame = gdb.newest_frame()
    value = lambda name: int(frame.read_register(name).cast(gdb.lookup_type("long"))) & (1 << 64) - 1
    out.write("registers " + " ".join("%x" % value(name) for name in NAMES) + "\n")
    top = value("rsp")
    size = 0
    for line in maps.splitlines():
        start, end = (int(it, 16) for it in line.split()[0].split("-"))
        if start <= top < end:
            size = end - top
    size = min(size, MOST_STACK)
    data = inferior.read_memory(top, size).tobytes() if size else b""
    out.write("stack %d %s\n" % (size < MOST_STACK, data.hex()))
    calls = []
    while frame is not None:
        # Those that debug info tells of.
        if frame.function() is not None:
            calls.append("%d %s" % (frame.find_sal().line, frame.function().name))
        # What was inlined, or jumped to another routine, is not on the stack.
        # Nor is there code where gdb takes 0 for a return address.
        if frame.type() == gdb.TAILCALL_FRAME:
            calls = []
        elif frame.type() != gdb.INLINE_FRAME:
            if frame.pc() > 4095:
                out.write("".join("call %s\n" % call for call in calls))
                out.write("frame %x\n" % frame.pc())
            calls = []
        frame = frame.older()
    out.write("stop\n")
    return maps


def run():
    for setting in ["pagination off", "confirm off", "backtrace past-main on",
                    "backtrace past-entry on", "backtrace limit 2000", "width 0",
                    "scheduler-locking step", "language c", "debuginfod enabled off"]:
        try:
            gdb.execute("set " + setting)
        except gdb.error:
            pass
    gdb.execute("handle all nostop noprint pass")
    gdb.execute("handle SIGTRAP stop noprint nopass")
    gdb.execute("break " + os.environ["STOP_AT"])
    maps = ""
    with open(os.environ["STOPS"], "w") as out:
        gdb.execute("run", to_string=True)
        for number in range(int(os.environ["STOP_COUNT"])):
            if not gdb.selected_inferior().pid:
                break
            maps = write(out, maps)
            # Odd steps end at every instruction of a loop some time.
            step = "continue" if number % 8 == 7 else "stepi %d" % (1 + number * 7 % 61)
            gdb.execute(step, to_string=True)


run()
