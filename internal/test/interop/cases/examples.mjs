// The programs of examples/, written with the official SDK: what their length is compared with does the same.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { batch } from '../examples/batch.mjs';
import { run } from '../examples/policy.mjs';
import { newServer } from '../examples/server.mjs';
import { call, test, turn } from '../suite.mjs';

const asked = { permissionMode: 'default', allowDangerouslySkipPermissions: false };

test('a chat over HTTP asks its client', async (w) => {
  await w.model(turn('I write.', call('Write', { file_path: w.dir + '/a.txt', content: 'a' })), turn('Done.'));
  const server = newServer(w.options(asked)).listen(0, '127.0.0.1');
  try {
    await new Promise((listening) => server.on('listening', listening));
    const address = `http://127.0.0.1:${server.address().port}`;
    const answer = await fetch(`${address}/chat`, { method: 'POST', body: 'write' });
    const events = [];
    let rest = '';
    for await (const chunk of answer.body) {
      const lines = (rest + new TextDecoder().decode(chunk)).split('\n');
      rest = lines.pop();
      for (const e of lines.map((l) => JSON.parse(l))) {
        events.push(e);
        if (e.question) await fetch(`${address}/answer?question=${e.question}&allow=true`, { method: 'POST' });
      }
    }
    assert.deepEqual(events.map((e) => e.text ?? e.tool ?? e.answer), ['I write.', 'Write', 'Done.', 'Done.']);
    assert.equal(w.read('a.txt'), 'a');
  } finally {
    server.close();
  }
});

test('a batch keeps to its budget', async (w) => {
  await w.model(...Array.from({ length: 6 }, () => turn('Done.')));
  const lines = [];
  await batch(Readable.from('a\nb\nc\n'), (l) => lines.push(l), 2, 1, 2, w.options());
  assert.deepEqual(lines.slice(0, 3).sort(), ['a: Done.', 'b: Done.', 'c: Done.']);
  assert.match(lines[3], /^spent \$\d\.\d\d of \$2\.00$/);
});

test('the first program of the guide runs', async (w) => {
  await w.model(turn('A parser.'));
  const program = path.resolve(`start-${process.pid}.mjs`); // beside the SDK
  fs.writeFileSync(program, fs.readFileSync('start.mjs', 'utf8').replace('/usr/local/bin/haft', process.env.INTEROP_EXECUTABLE));
  const out = await w.run(process.execPath, [program]);
  assert.equal(out.stdout, 'A parser.\n', out.stderr);
});

test('a policy decides about tools of its own', async (w) => {
  w.file('main.go', 'package main\n');
  await w.model(
    turn(call('Read', { file_path: w.dir + '/main.go' })),
    turn(call('Write', { file_path: w.dir + '/docs/main.md', content: 'A program.\n' })),
    turn(call('Edit', { file_path: w.dir + '/main.go', old_string: 'main', new_string: 'mine' })),
    turn(call('mcp__own__Deploy', { to: 'production' })),
    turn(call('mcp__own__Deploy', { to: 'staging' })),
    turn('Described and deployed.'),
  );
  const lines = [];
  await run('Describe it, then deploy.', (l) => lines.push(l), w.options(asked));
  assert.deepEqual(lines.map((l) => l.split(':')[0]), ['done', 'done', 'failed', 'failed', 'done', 'Described and deployed.']);
  assert.match(lines[2], /only files in docs may be changed/);
  assert.match(lines[3], /only people deploy to production/);
  assert.equal(w.read('main.go'), 'package main\n');
});
