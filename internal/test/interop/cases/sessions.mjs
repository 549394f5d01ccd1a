// Sessions: resume, fork, continue, listings, rewinding files.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { call, collect, feed, sdk, test, turn, until, user } from '../suite.mjs';

const tools = ['Bash', 'Read', 'Write', 'Edit'];
const texts = (r) => JSON.stringify(r.messages);

// The SDK reads sessions from the home of its own process, so a case that lists
// them names the folder.
function here(w) {
  process.env.CLAUDE_CONFIG_DIR = path.join(w.home, '.claude');
}

test('resume goes on with the same id and the whole history', async (w) => {
  await w.model(turn('First.'), turn('Second.'));
  const first = await w.ask('the word is mango', { tools });
  const second = await w.ask('which word?', { tools, resume: first.init.session_id });
  assert.equal(second.init.session_id, first.init.session_id);
  assert.equal(second.result.result, 'Second.');
  assert.match(texts((await w.requests()).at(-1)), /mango/);
  assert.equal(second.of('system', 'init').length, 1);
});

test('a fork has a new id and leaves the old session', async (w) => {
  await w.model(turn('First.'), turn('Second.'));
  const first = await w.ask('the word is mango', { tools });
  const fork = await w.ask('which word?', { tools, resume: first.init.session_id, forkSession: true });
  assert.notEqual(fork.init.session_id, first.init.session_id);
  assert.match(texts((await w.requests()).at(-1)), /mango/);
  const again = await w.ask('and now?', { tools, resume: first.init.session_id });
  assert.doesNotMatch(texts((await w.requests()).at(-1)), /which word/);
  assert.equal(again.init.session_id, first.init.session_id);
});

test('continue takes the newest session of the folder', async (w) => {
  await w.model(turn('First.'), turn('Second.'));
  const first = await w.ask('the word is mango', { tools });
  const second = await w.ask('which word?', { tools, continue: true });
  assert.equal(second.init.session_id, first.init.session_id);
  assert.match(texts((await w.requests()).at(-1)), /mango/);
});

test('resumeSessionAt forgets what came after the message', async (w) => {
  await w.model(turn('First.'), turn('Second.'), turn('Third.'));
  const prompts = feed('one');
  const first = await collect(w.query(prompts, { tools }), (m, run) => {
    if (m.type === 'result') run.results.length === 1 ? prompts.push('forget-me') : prompts.end();
  });
  const at = first.of('assistant')[0].uuid;
  const second = await w.ask('again', { tools, resume: first.init.session_id, resumeSessionAt: at });
  assert.equal(second.error, undefined);
  const last = texts((await w.requests()).at(-1));
  assert.match(last, /First\./);
  assert.doesNotMatch(last, /forget-me/);
});

test('a session id can be chosen, and an unknown one is an error', async (w) => {
  await w.model(turn('First.'));
  const sessionId = '55555555-5555-4555-8555-555555555555';
  const run = await w.ask('one', { tools, sessionId });
  assert.equal(run.init.session_id, sessionId);
  const lost = await w.ask('one', { tools, resume: '66666666-6666-4666-8666-666666666666' });
  assert.equal(lost.init, undefined);
  assert.equal(lost.result.subtype, 'error_during_execution');
  assert.equal(lost.result.is_error, true);
  assert.match(lost.result.errors[0], /66666666-6666-4666-8666-666666666666/);
  assert.ok(lost.error);
  assert.equal(w.children.at(-1).exitCode, 1);
});

test('an unknown message to resume at is an error', async (w) => {
  await w.model(turn('First.'));
  const first = await w.ask('one', { tools });
  const lost = await w.ask('two', { tools, resume: first.init.session_id, resumeSessionAt: '77777777-7777-4777-8777-777777777777' });
  assert.equal(lost.result.subtype, 'error_during_execution');
  assert.equal(w.children.at(-1).exitCode, 1);
});

test('the SDK lists sessions and reads their messages', async (w) => {
  await w.model(turn('I look.', call('Bash', { command: 'echo hi' })), turn('Done.'));
  const uuid = '88888888-8888-4888-8888-888888888888';
  const prompts = feed(user('look at this', { uuid }));
  prompts.end();
  const run = await collect(w.query(prompts, { tools }));
  here(w);
  const list = await sdk.listSessions({ dir: w.dir });
  assert.deepEqual(list.map((s) => s.sessionId), [run.init.session_id]);
  assert.match(list[0].summary, /look at this/);
  assert.ok(list[0].lastModified > 0);
  assert.equal(list[0].cwd, w.dir);
  const messages = await sdk.getSessionMessages(run.init.session_id, { dir: w.dir });
  const said = messages.filter((m) => m.type === 'assistant').map((m) => m.uuid);
  assert.deepEqual(said, run.of('assistant').map((m) => m.uuid));
  assert.ok(messages.some((m) => m.uuid === uuid), 'the client names its messages');
  const results = messages.filter((m) => m.type === 'user' && m.message.content[0]?.type === 'tool_result');
  assert.deepEqual(results.map((m) => m.uuid), run.of('user').map((m) => m.uuid));
  const info = await sdk.getSessionInfo(run.init.session_id, { dir: w.dir });
  assert.equal(info.sessionId, run.init.session_id);
  await sdk.renameSession(run.init.session_id, 'A new name', { dir: w.dir });
  assert.equal((await sdk.listSessions({ dir: w.dir }))[0].summary, 'A new name');
  const again = await w.ask('go on', { tools, resume: run.init.session_id });
  assert.equal(again.result.subtype, 'success');
  const { sessionId } = await sdk.forkSession(run.init.session_id, { dir: w.dir });
  const forked = await w.ask('go on', { tools, resume: sessionId });
  assert.equal(forked.error, undefined);
  assert.equal(forked.init.session_id, sessionId);
  assert.match(texts((await w.requests()).at(-1)), /look at this/);
  await sdk.deleteSession(sessionId, { dir: w.dir });
  assert.equal((await sdk.listSessions({ dir: w.dir })).some((s) => s.sessionId === sessionId), false);
});

test('persistSession false leaves no session', async (w) => {
  await w.model(turn('First.'));
  const run = await w.ask('one', { tools, persistSession: false });
  assert.equal(run.result.subtype, 'success');
  const projects = path.join(w.home, '.claude/projects');
  const files = fs.existsSync(projects) ? fs.readdirSync(projects, { recursive: true }).filter((f) => String(f).endsWith('.jsonl')) : [];
  assert.deepEqual(files, []);
});

test('a session that was killed in the middle of a call can go on', async (w) => {
  await w.model(turn(call('Bash', { command: 'touch runs; sleep 20' }, 'toolu_slow')), turn('After.'));
  const prompts = feed('one');
  let id;
  await collect(w.query(prompts, { tools }), (m) => {
    id = m.session_id;
    if (m.type === 'assistant') until('the command runs', () => w.exists('runs')).then(() => w.children[0].kill('SIGKILL'));
  });
  const again = await w.ask('two', { tools, resume: id });
  assert.equal(again.error, undefined);
  assert.equal(again.result.subtype, 'success');
  const blocks = (await w.requests()).at(-1).messages.flatMap((m) => (Array.isArray(m.content) ? m.content : []));
  const result = blocks.find((b) => b.type === 'tool_result' && b.tool_use_id === 'toolu_slow');
  assert.equal(result.is_error, true);
});

test('rewindFiles brings files back to where a message found them', async (w) => {
  const file = w.file('a.txt', 'old\n');
  await w.model(turn(call('Read', { file_path: file })), turn(call('Write', { file_path: file, content: 'new\n' })), turn('First.'), turn(call('Write', { file_path: path.join(w.dir, 'b.txt'), content: 'b\n' })), turn('Second.'));
  const uuid = '99999999-9999-4999-8999-999999999999';
  const prompts = feed(user('one', { uuid }));
  const q = w.query(prompts, { tools, enableFileCheckpointing: true, extraArgs: { 'replay-user-messages': null } });
  let dry, real;
  const run = await collect(q, async (m, run) => {
    if (m.type !== 'result') return;
    if (run.results.length === 1) { prompts.push('two'); return; }
    dry = await q.rewindFiles(uuid, { dryRun: true });
    assert.equal(w.read('a.txt'), 'new\n');
    real = await q.rewindFiles(uuid);
    await assert.rejects(async () => { const r = await q.rewindFiles('00000000-0000-4000-8000-000000000000'); if (!r.canRewind) throw new Error(r.error); });
    prompts.end();
  });
  assert.equal(run.error, undefined);
  assert.equal(dry.canRewind, true);
  assert.deepEqual(dry.filesChanged.map((f) => path.basename(f)).sort(), ['a.txt', 'b.txt']);
  assert.equal(typeof dry.insertions, 'number');
  assert.equal(typeof dry.deletions, 'number');
  assert.equal(real.canRewind, true);
  assert.equal(w.read('a.txt'), 'old\n');
  assert.ok(!w.exists('b.txt'));
});
