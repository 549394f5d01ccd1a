// The permission callback, rules and modes.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { call, collect, feed, text, test, turn, until } from '../suite.mjs';

const ask = (canUseTool, more = {}) => ({ tools: ['Bash', 'Read', 'Write', 'Edit'], permissionMode: 'default', allowDangerouslySkipPermissions: false, canUseTool, ...more });
const touch = (name = 'made') => call('Bash', { command: `touch ${name}` }, 'toolu_touch');

test('allow runs the call', async (w) => {
  await w.model(turn(touch()), turn('Done.'));
  const asked = [];
  const run = await w.ask('go', ask(async (name, input, more) => { asked.push({ name, input, more }); return { behavior: 'allow', updatedInput: input }; }));
  assert.equal(run.result.subtype, 'success');
  assert.ok(w.exists('made'));
  assert.equal(asked.length, 1);
  assert.equal(asked[0].name, 'Bash');
  assert.deepEqual(asked[0].input, { command: 'touch made' });
  assert.equal(asked[0].more.toolUseID, 'toolu_touch');
  assert.ok(Array.isArray(asked[0].more.suggestions) && asked[0].more.suggestions.length > 0);
  assert.ok(asked[0].more.signal instanceof AbortSignal);
  assert.deepEqual(run.result.permission_denials, []);
});

test('allow without an input runs the original one', async (w) => {
  await w.model(turn(touch()), turn('Done.'));
  await w.ask('go', ask(async () => ({ behavior: 'allow' })));
  assert.ok(w.exists('made'));
});

test('a changed input runs in place of the original one', async (w) => {
  await w.model(turn(touch('old')), turn('Done.'));
  const run = await w.ask('go', ask(async () => ({ behavior: 'allow', updatedInput: { command: 'touch new' } })));
  assert.ok(w.exists('new') && !w.exists('old'));
  assert.equal(run.blocks('assistant', 'tool_use')[0].input.command, 'touch old');
});

test('deny tells the model why, and the turn goes on', async (w) => {
  await w.model(turn(touch()), turn('All right.'));
  const run = await w.ask('go', ask(async () => ({ behavior: 'deny', message: 'not on my watch' })));
  assert.ok(!w.exists('made'));
  const [r] = run.toolResults;
  assert.equal(r.is_error, true);
  assert.match(text(r), /not on my watch/);
  assert.equal(run.result.subtype, 'success');
  assert.deepEqual(run.result.permission_denials, [{ tool_name: 'Bash', tool_use_id: 'toolu_touch', tool_input: { command: 'touch made' } }]);
  assert.equal(run.of('system', 'permission_denied').length, 0, 'the host was asked');
});

test('deny with interrupt ends the turn', async (w) => {
  await w.model(turn(touch()), turn('never'));
  const run = await w.ask('go', ask(async () => ({ behavior: 'deny', message: 'stop it', interrupt: true })));
  assert.equal(run.result.subtype, 'error_during_execution');
  assert.equal(run.result.terminal_reason, 'aborted_tools');
  assert.equal(run.result.is_error, true);
  assert.equal(run.toolResults[0].is_error, true);
  assert.ok(run.blocks('user', 'text').some((b) => b.text === '[Request interrupted by user for tool use]'));
  assert.equal((await w.requests()).length, 1);
});

test('a callback that throws denies', async (w) => {
  await w.model(turn(touch()), turn('All right.'));
  const run = await w.ask('go', ask(async () => { throw new Error('callback broke'); }));
  assert.ok(!w.exists('made'));
  assert.equal(run.toolResults[0].is_error, true);
  assert.match(text(run.toolResults[0]), /callback broke/);
  assert.equal(run.result.subtype, 'success');
});

test('an updated permission of the session is not asked for again', async (w) => {
  await w.model(turn(call('Bash', { command: 'touch a' })), turn(call('Bash', { command: 'touch b' })), turn('Done.'));
  let asked = 0;
  const run = await w.ask('go', ask(async (name, input) => {
    asked++;
    return { behavior: 'allow', updatedInput: input, updatedPermissions: [{ type: 'addRules', rules: [{ toolName: 'Bash', ruleContent: 'touch:*' }], behavior: 'allow', destination: 'session' }] };
  }));
  assert.equal(run.error, undefined);
  assert.equal(asked, 1);
  assert.ok(w.exists('a') && w.exists('b'));
});

test('a suggestion can be given back as it came, and is kept in the local settings', async (w) => {
  await w.model(turn(call('Bash', { command: 'touch a' })), turn(call('Bash', { command: 'touch a' })), turn('Done.'));
  let asked = 0;
  await w.ask('go', ask(async (name, input, { suggestions }) => {
    asked++;
    const rules = suggestions.filter((s) => s.type === 'addRules');
    assert.ok(rules.length > 0);
    return { behavior: 'allow', updatedInput: input, updatedPermissions: rules.map((s) => ({ ...s, destination: 'localSettings' })) };
  }));
  assert.equal(asked, 1);
  const local = JSON.parse(w.read('.claude/settings.local.json'));
  assert.ok(local.permissions.allow.some((r) => r.startsWith('Bash(touch')), JSON.stringify(local));
});

test('an updated permission may change the mode', async (w) => {
  const file = path.join(w.dir, 'a.txt');
  await w.model(turn(call('Write', { file_path: file, content: '1' })), turn(call('Write', { file_path: path.join(w.dir, 'b.txt'), content: '2' })), turn('Done.'));
  let asked = 0;
  const run = await w.ask('go', ask(async (name, input, { suggestions }) => {
    asked++;
    assert.deepEqual(suggestions, [{ type: 'setMode', mode: 'acceptEdits', destination: 'session' }]);
    return { behavior: 'allow', updatedInput: input, updatedPermissions: suggestions };
  }));
  assert.equal(asked, 1);
  assert.ok(run.of('system', 'status').some((m) => m.permissionMode === 'acceptEdits'));
  assert.ok(w.exists('b.txt'));
});

test('rules are asked for, removed and directories added without an error', async (w) => {
  await w.model(turn(touch()), turn('Done.'));
  const run = await w.ask('go', ask(async (name, input) => ({
    behavior: 'allow', updatedInput: input,
    updatedPermissions: [
      { type: 'addDirectories', directories: [w.root], destination: 'session' },
      { type: 'removeRules', rules: [{ toolName: 'Bash', ruleContent: 'rm:*' }], behavior: 'allow', destination: 'session' },
      { type: 'removeDirectories', directories: [w.root], destination: 'session' },
    ],
  })));
  assert.equal(run.result.subtype, 'success');
  assert.equal(run.of('system', 'informational').length, 0, JSON.stringify(run.of('system', 'informational')));
});

test('allowed tools are not asked about, disallowed rules win', async (w) => {
  await w.model(turn(call('Bash', { command: 'touch a' })), turn(call('Bash', { command: 'touch b' })), turn('Done.'));
  let asked = 0;
  const run = await w.ask('go', ask(async () => { asked++; return { behavior: 'allow' }; }, { allowedTools: ['Bash(touch *)'], disallowedTools: ['Bash(touch b)'] }));
  assert.equal(asked, 0);
  assert.ok(w.exists('a') && !w.exists('b'));
  assert.equal(run.result.permission_denials.length, 1);
  assert.equal(run.of('system', 'permission_denied').length, 1);
});

test('without a callback what would be asked is denied and listed', async (w) => {
  await w.model(turn(touch()), turn('All right.'));
  const run = await w.ask('go', ask(undefined));
  assert.ok(!w.exists('made'));
  const [denied] = run.of('system', 'permission_denied');
  assert.equal(denied.tool_name, 'Bash');
  assert.equal(denied.tool_use_id, 'toolu_touch');
  assert.equal(run.result.permission_denials.length, 1);
});

test('dontAsk denies, acceptEdits writes files, plan writes none', async (w) => {
  const file = path.join(w.dir, 'f.txt');
  const turns = [turn(call('Write', { file_path: file, content: 'x' })), turn('Done.')];
  await w.model(...turns);
  await w.ask('go', ask(undefined, { permissionMode: 'dontAsk' }));
  assert.ok(!w.exists('f.txt'), 'dontAsk');
  await w.ask('go', ask(undefined, { permissionMode: 'plan' }));
  assert.ok(!w.exists('f.txt'), 'plan');
  await w.ask('go', ask(undefined, { permissionMode: 'acceptEdits' }));
  assert.ok(w.exists('f.txt'), 'acceptEdits');
});

test('reads inside the project are not asked about', async (w) => {
  const file = w.file('a.txt', 'hello\n');
  await w.model(turn(call('Read', { file_path: file })), turn('Done.'));
  let asked = 0;
  const run = await w.ask('go', ask(async () => { asked++; return { behavior: 'deny', message: 'no' }; }));
  assert.equal(asked, 0);
  assert.match(text(run.toolResults[0]), /hello/);
});

test('files outside the project are asked about, additional directories are not', async (w) => {
  const outside = path.join(w.root, 'outside');
  fs.mkdirSync(outside);
  fs.writeFileSync(path.join(outside, 'a.txt'), 'far\n');
  await w.model(turn(call('Read', { file_path: path.join(outside, 'a.txt') })), turn('Done.'));
  let asked = 0;
  const callback = async () => { asked++; return { behavior: 'deny', message: 'no' }; };
  await w.ask('go', ask(callback));
  assert.equal(asked, 1);
  const run = await w.ask('go', ask(callback, { additionalDirectories: [outside] }));
  assert.equal(asked, 1);
  assert.match(text(run.toolResults[0]), /far/);
});

test('an interrupt while the host is asked takes the question back', async (w) => {
  await w.model(turn(touch()), turn('Next.'));
  const prompts = feed('go');
  let aborted = false;
  let open;
  const asking = new Promise((done) => { open = done; });
  const q = w.query(prompts, ask((name, input, { signal }) => new Promise((done) => {
    signal.addEventListener('abort', () => { aborted = true; });
    open();
    setTimeout(() => done({ behavior: 'allow', updatedInput: input }), 1500);
  })));
  const reading = collect(q, (m) => { if (m.type === 'result') prompts.end(); });
  await asking;
  await q.interrupt();
  const run = await reading;
  await until('the signal fires', () => aborted);
  assert.equal(run.result.subtype, 'error_during_execution');
  assert.ok(!w.exists('made'));
});

test('the state is requires_action while the host is asked', async (w) => {
  await w.model(turn(touch()), turn('Done.'));
  const lines = [];
  const options = w.options(ask(async (n, input) => ({ behavior: 'allow', updatedInput: input })));
  const spawn = options.spawnClaudeCodeProcess;
  options.spawnClaudeCodeProcess = (how) => { const c = spawn(how); c.stdout.on('data', (d) => lines.push(d)); return c; };
  const { sdk } = await import('../suite.mjs');
  await collect(sdk.query({ prompt: 'go', options }));
  const states = Buffer.concat(lines).toString().split('\n').filter(Boolean).map((l) => JSON.parse(l)).filter((m) => m.subtype === 'session_state_changed').map((m) => m.state);
  assert.deepEqual(states, ['running', 'requires_action', 'running', 'idle']);
});

test('AskUserQuestion is answered by the host', async (w) => {
  const questions = [{ question: 'Which?', header: 'Pick', multiSelect: false, options: [{ label: 'A', description: 'a' }, { label: 'B', description: 'b' }] }];
  await w.model(turn(call('AskUserQuestion', { questions })), turn('Good.'));
  const run = await w.ask('go', ask(async (name, input) => ({ behavior: 'allow', updatedInput: { ...input, answers: { 'Which?': 'B' } } }), { tools: { type: 'preset', preset: 'claude_code' } }));
  assert.match(text(run.toolResults[0]), /B/);
  assert.notEqual(run.toolResults[0].is_error, true);
});

test('allowing ExitPlanMode leaves plan mode', async (w) => {
  await w.model(turn(call('ExitPlanMode', { plan: 'Do it.' })), turn('Off we go.'));
  const run = await w.ask('go', ask(async (name, input) => ({ behavior: 'allow', updatedInput: input }), { permissionMode: 'plan', tools: { type: 'preset', preset: 'claude_code' } }));
  assert.equal(run.init.permissionMode, 'plan');
  assert.ok(run.of('system', 'status').some((m) => m.permissionMode && m.permissionMode !== 'plan'), JSON.stringify(run.shape));
});
