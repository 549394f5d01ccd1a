// Evaluates what arrives on descriptor 3, one JSON object per line, in the global
// scope. The end of an evaluation is marked on the standard output, after all that
// it wrote. A thread of its own reads, so that a busy program can be interrupted.
'use strict';
(() => {
  const { Worker } = require('worker_threads');
  const inspector = require('inspector');
  const { inspect } = require('util');
  const write = process.stdout.write.bind(process.stdout); // the code may replace it
  const exit = process.exit.bind(process);
  let current = null;
  let interrupt = null;
  const interrupts = new Int32Array(new SharedArrayBuffer(8)); // how many were heard of; whether the last one terminated the program

  const reader = new Worker(`
    const { parentPort, workerData: interrupts } = require('worker_threads');
    const inspector = require('inspector');
    const terminate = () => {
      const session = new inspector.Session();
      session.connectToMainThread();
      session.post('Runtime.terminateExecution', () => session.disconnect());
    };
    let rest = '';
    const decoder = new (require('string_decoder').StringDecoder)('utf8');
    const requests = new (require('net').Socket)({ fd: 3, readable: true, writable: false }); // a read of a file would hold up the exit
    requests.on('data', (data) => {
      const lines = (rest + decoder.write(data)).split('\\n');
      rest = lines.pop();
      for (const line of lines) {
        const request = JSON.parse(line);
        parentPort.postMessage(request);
        if (!request.interrupt) continue;
        // Only a busy program does not hear of it, and only that may be terminated:
        // otherwise the next evaluation would be.
        const heard = Atomics.load(interrupts, 0);
        setTimeout(() => {
          if (Atomics.load(interrupts, 0) !== heard) return;
          Atomics.store(interrupts, 1, 1);
          terminate();
        }, 200);
      }
    });
    requests.on('end', () => parentPort.postMessage({ end: true }));
  `, { eval: true, workerData: interrupts });

  const session = new inspector.Session();
  session.connect();
  const post = (method, params) => new Promise((resolve) => {
    session.post(method, params, (error, result) => resolve({ error, result }));
  });

  // The values of an evaluation, by the session's name for them.
  let shown;
  globalThis.require = require('module').createRequire(process.cwd() + '/');
  const show = async (object) => {
    if (object.type === 'undefined') return undefined;
    if (!object.objectId) return object.type === 'string' ? inspect(object.value) : object.description ?? String(object.value);
    const key = Symbol.for('haft value');
    globalThis[key] = function (value) { shown = value; };
    await post('Runtime.callFunctionOn', {
      functionDeclaration: "function (v) { globalThis[Symbol.for('haft value')](v) }", objectId: object.objectId, arguments: [{ objectId: object.objectId }],
    });
    delete globalThis[key];
    const value = shown;
    shown = undefined;
    post('Runtime.releaseObject', { objectId: object.objectId });
    return inspect(value);
  };

  // Frames below the evaluated code are this file's.
  const stack = (text) => text.split('\n    at Session.post')[0].split('\n    at new Promise (<anonymous>)\n    at post')[0];

  const evaluate = async (code) => {
    const interrupted = new Promise((resolve) => { interrupt = () => resolve({ interrupted: true }); });
    const answer = await Promise.race([post('Runtime.evaluate', { expression: code, replMode: true, awaitPromise: true }), interrupted]);
    if (answer.interrupted || answer.error) return 'interrupted';
    const { result, exceptionDetails } = answer.result;
    if (exceptionDetails) {
      const thrown = exceptionDetails.exception;
      const text = thrown && thrown.subtype === 'error' ? stack(thrown.description) : 'Uncaught ' + (thrown ? await show(thrown) : exceptionDetails.text);
      write(text + '\n');
      return 'error';
    }
    const text = await show(result);
    if (text !== undefined) write(text + '\n');
    return 'ok';
  };

  const fault = (error) => { write('Uncaught ' + inspect(error) + '\n'); };
  process.on('uncaughtException', fault);
  process.on('unhandledRejection', fault);

  let queue = Promise.resolve();
  reader.on('message', (request) => {
    if (request.end) exit(0);
    if (request.interrupt) {
      Atomics.add(interrupts, 0, 1);
      const terminated = Atomics.exchange(interrupts, 1, 0) === 1;
      // A busy evaluation has been answered by now. One that was busy after an await has
      // not, and leaves Node.js without a working queue of promises: there is no use in
      // that process. Any other waits for a promise that may never settle.
      if (request.interrupt === current) {
        setImmediate(() => {
          if (interrupt && terminated) exit(130);
          if (interrupt) interrupt();
        });
      }
      return;
    }
    queue = queue.then(async () => {
      current = request.id;
      const state = await evaluate(request.code).catch((error) => { fault(error); return 'error'; });
      current = interrupt = null;
      write('\0' + request.id + ' ' + state + '\0');
    });
  });
})();
