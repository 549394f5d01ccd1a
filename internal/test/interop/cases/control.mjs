// Control requests: what a program asks and changes while the session lives.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { alive, call, collect, feed, reference, sleep, text, test, turn, until } from '../suite.mjs';

const tools = ['Bash', 'Read', 'Write', 'Edit'];

/** idle runs a session that waits for input, for control requests alone. */
async function idle(w, options, act) {
  await w.model(turn('Hello.'), turn('Again.'), turn('Third.'));
  const prompts = feed();
  const q = w.query(prompts, { tools, ...options });
  const reading = collect(q);
  try {
    return await act(q, prompts, reading);
  } finally {
    prompts.end();
    await reading;
  }
}

/** session takes one turn, lets act do something, and takes another. */
async function between(w, options, act) {
  const prompts = feed('one');
  const q = w.query(prompts, { tools, ...options });
  return collect(q, async (m, run) => {
    if (m.type !== 'result') return;
    if (run.results.length === 1) { await act(q, run); prompts.push('two'); } else prompts.end();
  });
}

test('initialize tells commands, models, agents, account', (w) => idle(w, {}, async (q) => {
  const commands = await q.supportedCommands();
  assert.ok(commands.length > 0);
  for (const c of commands) {
    assert.equal(typeof c.name, 'string');
    assert.equal(typeof c.description, 'string');
    assert.equal(typeof c.argumentHint, 'string');
  }
  assert.ok(commands.some((c) => c.name === 'compact'));
  const models = await q.supportedModels();
  for (const m of models) assert.ok(m.value && m.displayName && typeof m.description === 'string');
  const agents = await q.supportedAgents();
  for (const a of agents) assert.ok(a.name && typeof a.description === 'string');
  const account = await q.accountInfo();
  assert.equal(account.apiKeySource, 'ANTHROPIC_API_KEY');
  const all = await q.initializationResult();
  assert.equal(typeof all.output_style, 'string');
  assert.ok(Array.isArray(all.available_output_styles));
  assert.equal(all.pid, w.children[0].pid);
}));

test('agents of the options are supported agents', (w) => idle(w, { agents: { scout: { description: 'looks around', prompt: 'You look.', model: 'haiku' } } }, async (q) => {
  const scout = (await q.supportedAgents()).find((a) => a.name === 'scout');
  assert.equal(scout.description, 'looks around');
}));

test('a second initialize is answered again', (w) => idle(w, {}, async (q) => {
  await q.initializationResult();
  const again = await q.reinitialize();
  assert.ok(Array.isArray(again.commands));
}));

test('setPermissionMode holds from the next call on and is told', async (w) => {
  const file = path.join(w.dir, 'a.txt');
  await w.model(turn('First.'), turn(call('Write', { file_path: file, content: 'x' })), turn('Done.'));
  const run = await between(w, { permissionMode: 'default', allowDangerouslySkipPermissions: false }, (q) => q.setPermissionMode('acceptEdits'));
  assert.ok(run.of('system', 'status').some((m) => m.permissionMode === 'acceptEdits' && m.status === null));
  assert.equal(run.of('system', 'init')[1].permissionMode, 'acceptEdits');
  assert.ok(w.exists('a.txt'));
});

test('a mode that does not exist is refused', (w) => idle(w, {}, async (q) => {
  await assert.rejects(q.setPermissionMode('nonsense'));
  const run = await q.initializationResult();
  assert.ok(run);
}));

test('bypassPermissions cannot be entered where it was not allowed at the start', (w) => idle(w, { permissionMode: 'default', allowDangerouslySkipPermissions: false }, async (q) => {
  await assert.rejects(q.setPermissionMode('bypassPermissions'));
}));

test('setModel changes the model of the next turn', async (w) => {
  await w.model(turn('First.'), turn('Second.'));
  const run = await between(w, { model: 'sonnet' }, (q) => q.setModel('haiku'));
  const [a, b] = run.of('system', 'init').map((m) => m.model);
  assert.notEqual(a, b);
  assert.match(b, /haiku/);
  const all = await w.requests();
  assert.match(all.at(-1).model, /haiku/);
});

test('setModel without a name is the default model', async (w) => {
  await w.model(turn('First.'), turn('Second.'));
  const run = await between(w, { model: 'haiku' }, (q) => q.setModel());
  assert.doesNotMatch(run.of('system', 'init')[1].model, /haiku/);
});

test('setMaxThinkingTokens reaches the request', async (w) => {
  await w.model(turn('First.'), turn('Second.'));
  await between(w, { model: 'claude-sonnet-4-5' }, (q) => q.setMaxThinkingTokens(2048));
  const all = await w.requests();
  assert.equal(all.at(-1).thinking.budget_tokens, 2048);
});

test('thinking options reach the request', async (w) => {
  await w.model(turn('First.'));
  await w.ask('go', { tools, model: 'claude-sonnet-4-5', thinking: { type: 'enabled', budgetTokens: 3000 } });
  assert.equal((await w.requests()).at(-1).thinking.budget_tokens, 3000);
  await w.ask('go', { tools, model: 'claude-sonnet-4-5', thinking: { type: 'disabled' } });
  assert.notEqual((await w.requests()).at(-1).thinking?.type, 'enabled');
});

test('interrupt in the middle of a tool ends the turn at once and leaves no process', async (w) => {
  await w.model(turn(call('Bash', { command: `echo $$ > ${w.dir}/pid; sleep 30` })), turn('After.'));
  const prompts = feed('one');
  const q = w.query(prompts, { tools });
  let at;
  const run = await collect(q, async (m, run) => {
    if (m.type === 'assistant' && m.message.content[0].type === 'tool_use') {
      until('the command runs', () => w.exists('pid') && w.read('pid').trim()).then(async () => { at = Date.now(); const r = await q.interrupt(); assert.deepEqual(r.still_queued, []); });
    }
    if (m.type === 'result') run.results.length === 1 ? prompts.push('two') : prompts.end();
  });
  assert.equal(run.results[0].subtype, 'error_during_execution');
  assert.equal(run.results[0].terminal_reason, 'aborted_tools');
  assert.equal(run.toolResults[0].is_error, true);
  assert.ok(run.blocks('user', 'text').some((b) => b.text === '[Request interrupted by user for tool use]'));
  assert.equal(run.results[1].result, 'After.');
  await until('the command ends', () => !alive(Number(w.read('pid'))));
  assert.equal(w.children[0].exitCode, 0);
});

test('interrupt in the middle of an answer', async (w) => {
  await w.model({ turns: [{ ...turn('A long text that takes its time to arrive, piece by piece by piece by piece.'), delta_ms: 400, chunk: 4 }, turn('After.')] });
  const prompts = feed('one');
  const q = w.query(prompts, { tools, includePartialMessages: true });
  let done = false;
  const run = await collect(q, (m, run) => {
    if (!done && m.type === 'stream_event' && m.event.type === 'content_block_delta') { done = true; q.interrupt(); }
    if (m.type === 'result') prompts.end();
  });
  assert.equal(run.result.subtype, 'error_during_execution');
  assert.equal(run.result.terminal_reason, 'aborted_streaming');
  assert.ok(run.blocks('user', 'text').some((b) => b.text === '[Request interrupted by user]'));
});

test('interrupt while nothing runs is answered', (w) => idle(w, {}, async (q) => {
  await q.initializationResult();
  const receipt = await q.interrupt();
  assert.deepEqual(receipt?.still_queued ?? [], []);
}));

test('getContextUsage says what fills the context', async (w) => {
  await w.model(turn('First.'), turn('Second.'));
  w.file('CLAUDE.md', 'Be brief.\n');
  let usage;
  await between(w, { settingSources: ['project'] }, async (q) => { usage = await q.getContextUsage(); });
  assert.ok(usage.totalTokens > 0);
  assert.ok(usage.maxTokens > usage.totalTokens);
  assert.ok(usage.percentage >= 0 && usage.percentage <= 100);
  assert.ok(usage.categories.length > 0);
  for (const c of usage.categories) assert.equal(typeof c.tokens, 'number');
  for (const list of ['gridRows', 'memoryFiles', 'mcpTools', 'agents']) assert.ok(Array.isArray(usage[list]), list);
  assert.ok(usage.memoryFiles.some((f) => f.path.endsWith('CLAUDE.md') && f.tokens > 0), JSON.stringify(usage.memoryFiles));
  for (const square of usage.gridRows.flat()) assert.equal(typeof square.squareFullness, 'number');
  assert.equal(typeof usage.skills.totalSkills, 'number');
  assert.equal(typeof usage.model, 'string');
  assert.equal(typeof usage.isAutoCompactEnabled, 'boolean');
});

test('usage, file reading and settings are answered', async (w) => {
  w.file('a.txt', 'hello\n');
  await idle(w, {}, async (q) => {
    const usage = await q.usage_EXPERIMENTAL_MAY_CHANGE_DO_NOT_RELY_ON_THIS_API_YET();
    assert.equal(typeof usage.session.total_cost_usd, 'number');
    const file = await q.readFile('a.txt');
    assert.equal(file.contents, 'hello\n');
    assert.equal(file.absPath, path.join(w.dir, 'a.txt'));
    assert.equal((await q.readFile('a.txt', { encoding: 'base64' })).contents, Buffer.from('hello\n').toString('base64'));
    assert.equal((await q.readFile('a.txt', { maxBytes: 2 })).contents, 'he');
    assert.equal(await q.readFile('missing.txt'), null);
    await q.seedReadState(path.join(w.dir, 'a.txt'), Date.now());
    await q.reloadSkills();
    await q.reloadOutputStyles();
    await q.reloadPlugins();
  });
});

test('applyFlagSettings changes rules of the session', async (w) => {
  await w.model(turn('First.'), turn(call('Bash', { command: 'touch made' })), turn('Done.'));
  await between(w, { permissionMode: 'default', allowDangerouslySkipPermissions: false }, (q) => q.applyFlagSettings({ permissions: { allow: ['Bash(touch:*)'] } }));
  assert.ok(w.exists('made'));
});

test('updateSettings does not write rules', (w) => idle(w, {}, async (q) => {
  await assert.rejects(q.updateSettings('localSettings', { permissions: { allow: ['Bash(rm:*)'] } }));
}));

test('a local command answers without a model', async (w) => {
  await w.model(turn('First.'));
  const run = await w.ask('/cost', { tools });
  assert.equal(run.result.num_turns, 0);
  assert.equal(run.result.subtype, 'success');
  assert.equal((await w.requests()).length, 0);
});

test('/context answers without a model', async (w) => {
  await w.model(turn('First.'));
  const run = await w.ask('/context', { tools });
  assert.equal(run.result.subtype, 'success');
  assert.equal(run.result.local_command, 'context');
  assert.equal((await w.requests()).length, 0);
  assert.ok(run.result.result.length > 0);
});

test('/compact summarizes, and the session goes on', async (w) => {
  await w.model(turn('First.'), turn('<summary>What was said.</summary>'), turn('Third.'));
  const prompts = feed('one');
  const run = await collect(w.query(prompts, { tools }), (m, run) => {
    if (m.type !== 'result') return;
    if (run.results.length === 1) prompts.push('/compact');
    else if (run.results.length === 2) prompts.push('three');
    else prompts.end();
  });
  const [boundary] = run.of('system', 'compact_boundary');
  assert.equal(boundary.compact_metadata.trigger, 'manual');
  assert.equal(typeof boundary.compact_metadata.pre_tokens, 'number');
  assert.ok(run.of('system', 'status').some((m) => m.status === 'compacting'));
  assert.equal(run.results.length, 3);
  assert.match(JSON.stringify((await w.requests()).at(-1).messages), /What was said/);
});

test('/clear forgets the conversation', async (w) => {
  await w.model(turn('First.'), turn('Second.'));
  const prompts = feed('the word is mango');
  const run = await collect(w.query(prompts, { tools }), (m, run) => {
    if (m.type !== 'result') return;
    if (run.results.length === 1) prompts.push('/clear');
    else if (run.results.length === 2) prompts.push('three');
    else prompts.end();
  });
  assert.equal(run.results.length, 3);
  assert.doesNotMatch(JSON.stringify((await w.requests()).at(-1).messages), /mango/);
});

test('a command of the project is put in place of its name', async (w) => {
  w.file('.claude/commands/greet.md', '---\ndescription: greets\nargument-hint: "[name]"\n---\nSay hello to $ARGUMENTS.\n');
  await w.model(turn('Hello, Ada.'));
  const run = await w.ask('/greet Ada', { tools, settingSources: ['project'] });
  assert.ok(run.init.slash_commands.includes('greet'));
  assert.match(JSON.stringify((await w.requests()).at(-1).messages), /Say hello to Ada\./);
});

test('an unknown command does not go to the model', async (w) => {
  await w.model(turn('What?'));
  const run = await w.ask('/nonsense here', { tools });
  assert.equal(run.result.subtype, reference ? 'success' : 'error_during_execution');
  assert.equal((await w.requests()).length, reference ? 1 : 0); // that one sends it as it is
});

test('settingSources choose what is read', async (w) => {
  w.file('CLAUDE.md', 'The project word is papaya.\n');
  w.file('.claude/settings.json', JSON.stringify({ permissions: { deny: ['Bash(touch:*)'] } }));
  await w.model(turn(call('Bash', { command: 'touch made' })), turn('Done.'));
  await w.ask('go', { tools, settingSources: [] });
  assert.ok(w.exists('made'));
  assert.doesNotMatch(JSON.stringify((await w.requests()).at(-1)), /papaya/);
  fs.rmSync(path.join(w.dir, 'made'));
  await w.ask('go', { tools, settingSources: ['project'], systemPrompt: { type: 'preset', preset: 'claude_code' } });
  assert.ok(!w.exists('made'));
  assert.match(JSON.stringify((await w.requests()).at(-1)), /papaya/);
});

test('settings can be given as an object and as a file', async (w) => {
  await w.model(turn(call('Bash', { command: 'touch made' })), turn('Done.'));
  const settings = { permissions: { deny: ['Bash(touch:*)'] } };
  await w.ask('go', { tools, settings });
  assert.ok(!w.exists('made'));
  const file = path.join(w.root, 'extra.json');
  fs.writeFileSync(file, JSON.stringify(settings));
  await w.ask('go', { tools, settings: file });
  assert.ok(!w.exists('made'));
});

test('additional directories are told', async (w) => {
  const more = path.join(w.root, 'more');
  fs.mkdirSync(more);
  await w.model(turn('Yes.'));
  const run = await w.ask('go', { tools, additionalDirectories: [more] });
  assert.deepEqual(run.init.additional_directories, [more]);
});

test('an unknown flag and an unknown request do no harm', async (w) => {
  await w.model(turn('Yes.'));
  const run = await w.ask('go', { tools, extraArgs: { 'some-new-flag': 'value' } });
  assert.equal(run.result.result, 'Yes.');
}, { only: 'haft' });
