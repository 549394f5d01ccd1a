// Life and end of the process, with the SDK's own way of starting it.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { alive, call, collect, feed, sdk, sleep, test, turn, until } from '../suite.mjs';

const tools = ['Bash', 'Read', 'Write', 'Edit'];
const slow = (w) => call('Bash', { command: `echo $$ > ${w.dir}/pid; sleep 40` });
const pid = (w) => Number(w.read('pid'));
const running = (w) => until('the command runs', () => w.exists('pid') && w.read('pid').trim());

/** gone waits for the process and its command to end. */
async function gone(w) {
  await until('the process ends', () => w.children.every((c) => c.exitCode !== null || c.signalCode !== null));
  if (w.exists('pid')) await until('the command ends', () => !alive(pid(w)));
}

test('the SDK starts the executable by itself', async (w) => {
  await w.model(turn('Hello.'));
  const options = w.options({ tools });
  delete options.spawnClaudeCodeProcess;
  const run = await collect(sdk.query({ prompt: 'hi', options }));
  assert.equal(run.error, undefined);
  assert.equal(run.result.result, 'Hello.');
});

test('abort in the middle of a tool ends everything', async (w) => {
  await w.model(turn(slow(w)), turn('never'));
  const abortController = new AbortController();
  const run = await collect(w.query('go', { tools, abortController }), (m) => {
    if (m.type === 'assistant') running(w).then(() => abortController.abort());
  });
  assert.ok(run.error);
  assert.equal(run.results.length, 0);
  await gone(w);
  assert.equal(w.children[0].signalCode, null, 'it ended by itself');
});

test('abort in the middle of an answer ends everything', async (w) => {
  await w.model({ turns: [{ ...turn('A long text that takes its time to arrive.'), delta_ms: 500, chunk: 4 }] });
  const abortController = new AbortController();
  const run = await collect(w.query('go', { tools, abortController, includePartialMessages: true }), (m) => {
    if (m.type === 'stream_event' && m.event.type === 'content_block_delta') abortController.abort();
  });
  assert.ok(run.error);
  await gone(w);
});

test('close in the middle of a tool ends everything', async (w) => {
  await w.model(turn(slow(w)), turn('never'));
  const q = w.query('go', { tools });
  await collect(q, (m) => { if (m.type === 'assistant') running(w).then(() => q.close()); });
  await gone(w);
});

test('leaving the loop ends everything', async (w) => {
  await w.model(turn(slow(w)), turn('never'));
  await collect(w.query('go', { tools }), async (m) => { if (m.type === 'assistant') { await running(w); return 'stop'; } });
  await gone(w);
});

test('SIGINT ends the turn with a result and exit code 0', async (w) => {
  await w.model(turn(slow(w)), turn('never'));
  const prompts = feed('go');
  const run = await collect(w.query(prompts, { tools }), (m) => {
    if (m.type === 'assistant') running(w).then(() => w.children[0].kill('SIGINT'));
    if (m.type === 'result') prompts.end();
  });
  assert.equal(run.result.subtype, 'error_during_execution');
  await gone(w);
  assert.equal(w.children[0].exitCode, 0);
});

test('SIGTERM kills the command and exits with 143', async (w) => {
  await w.model(turn(slow(w)), turn('never'));
  const prompts = feed('go');
  await collect(w.query(prompts, { tools }), (m) => {
    if (m.type === 'assistant') running(w).then(() => w.children[0].kill('SIGTERM'));
  });
  prompts.end();
  await gone(w);
  assert.equal(w.children[0].exitCode, 143);
});

test('an input that ends at once ends the process with 0', async (w) => {
  await w.model(turn('never'));
  const prompts = feed();
  prompts.end();
  const run = await collect(w.query(prompts, { tools }));
  assert.equal(run.results.length, 0);
  await gone(w);
  assert.equal(w.children[0].exitCode, 0);
});

test('startup warms the process up and takes the prompt later', async (w) => {
  await w.model(turn('Warm.'));
  const warm = await sdk.startup({ options: w.options({ tools }) });
  await sleep(200);
  const run = await collect(warm.query('hi'));
  assert.equal(run.result.result, 'Warm.');
});

test('ten sessions at once do not disturb each other', async (w) => {
  await w.model(turn(call('Bash', { command: 'echo $RANDOM' })), turn('Done.'));
  const runs = await Promise.all(Array.from({ length: 10 }, (_, i) => w.ask('go ' + i, { tools })));
  assert.ok(runs.every((r) => r.result?.result === 'Done.'));
  assert.equal(new Set(runs.map((r) => r.init.session_id)).size, 10);
});

test('large inputs and outputs pass', async (w) => {
  await w.model(turn(call('Bash', { command: 'head -c 200000 /dev/zero | tr "\\0" x' })), turn('Big.'));
  const run = await w.ask('x'.repeat(4 << 20), { tools });
  assert.equal(run.result.result, 'Big.');
  assert.ok(JSON.stringify(run.toolResults[0]).length < 100000);
}, { only: 'haft' }); // the official one counts the prompt and refuses it

test('the environment of the options is that of commands', async (w) => {
  await w.model(turn(call('Bash', { command: 'echo "$CLAUDECODE $CLAUDE_CODE_ENTRYPOINT"' })), turn('Done.'));
  const run = await w.ask('go', { tools });
  assert.match(JSON.stringify(run.toolResults[0]), /1 sdk-ts/);
});
