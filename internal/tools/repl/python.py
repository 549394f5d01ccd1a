# Evaluates what arrives on descriptor 3, one JSON object per line, in __main__.
# The end of an evaluation is marked on the standard output, after all that it wrote.
import ast, asyncio, builtins, inspect, json, linecache, os, queue, signal, sys, threading, traceback, types


def serve():
    marks = os.dup(1)  # the code may close or replace its own
    main = types.ModuleType("__main__")
    main.__builtins__ = builtins
    sys.modules["__main__"] = main
    sys.path[0:1] = [""]
    sys.argv = [""]
    work = queue.SimpleQueue()
    current = [None]
    loop = asyncio.new_event_loop()

    def interrupted(number, frame):
        if current[0] is not None:
            raise KeyboardInterrupt

    def read():
        with os.fdopen(3, "rb", 0) as requests:
            for line in requests:
                request = json.loads(line)
                if "interrupt" not in request:
                    work.put(request)
                elif request["interrupt"] == current[0]:
                    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        os._exit(0)

    def compiled(code, name):
        tree = ast.parse(code, name)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        parts = [(compile(tree, name, "exec", flags), False)]
        if last is not None:
            parts.append((compile(ast.Expression(last.value), name, "eval", flags), True))
        return parts

    def evaluate(code, name):
        linecache.cache[name] = (len(code), None, code.splitlines(True), name)
        for part, shown in compiled(code, name):
            value = eval(part, main.__dict__)
            if part.co_flags & inspect.CO_COROUTINE:
                value = loop.run_until_complete(value)
            if shown and value is not None:
                main._ = value
                print(repr(value))

    def complain(name):
        kind, error, trace = sys.exc_info()
        while trace is not None and trace.tb_frame.f_code.co_filename != name:
            trace = trace.tb_next
        traceback.print_exception(kind, error, trace)

    def flush():
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                pass

    os.set_inheritable(3, False)
    signal.signal(signal.SIGINT, interrupted)
    threading.Thread(target=read, daemon=True).start()
    number = 0
    while True:
        request = work.get()
        number += 1
        name, state = "<call %d>" % number, "ok"
        try:
            current[0] = request["id"]
            try:
                evaluate(request["code"], name)
            finally:
                current[0] = None
        except KeyboardInterrupt:
            state = "interrupted"
            complain(name)
        except SystemExit as end:
            if isinstance(end.code, str):
                print(end.code, file=sys.stderr)
            flush()
            os._exit(end.code if isinstance(end.code, int) else 0 if end.code is None else 1)
        except BaseException:
            state = "error"
            complain(name)
        flush()
        os.write(marks, ("\0%s %s\0" % (request["id"], state)).encode())


serve()
