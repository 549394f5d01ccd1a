// Hooks of every kind: callbacks of the program and commands of the settings.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { call, collect, feed, text, test, turn, reference } from '../suite.mjs';

const tools = ['Bash', 'Read', 'Write', 'Edit'];
const hook = (event, fn, more = {}) => ({ tools, hooks: { [event]: [{ hooks: [fn], ...more }] } });
const last = async (w) => JSON.stringify((await w.requests()).at(-1).messages);

test('PreToolUse sees the call and lets it run', async (w) => {
  await w.model(turn(call('Bash', { command: 'echo hi' }, 'toolu_1')), turn('Done.'));
  const seen = [];
  const run = await w.ask('go', hook('PreToolUse', async (input, id, { signal }) => { seen.push([input, id, signal instanceof AbortSignal]); return {}; }));
  assert.equal(seen.length, 1);
  const [input, id, signalled] = seen[0];
  assert.equal(input.hook_event_name, 'PreToolUse');
  assert.equal(input.tool_name, 'Bash');
  assert.deepEqual(input.tool_input, { command: 'echo hi' });
  assert.equal(input.tool_use_id, 'toolu_1');
  assert.equal(id, 'toolu_1');
  assert.ok(signalled);
  assert.equal(input.session_id, run.init.session_id);
  assert.equal(input.cwd, w.dir);
  assert.equal(input.permission_mode, 'bypassPermissions');
  assert.ok(input.transcript_path.endsWith('.jsonl'), input.transcript_path);
  assert.equal(text(run.toolResults[0]), 'hi');
});

test('PreToolUse denies with a reason', async (w) => {
  await w.model(turn(call('Bash', { command: 'touch made' })), turn('Done.'));
  const run = await w.ask('go', hook('PreToolUse', async () => ({ hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'deny', permissionDecisionReason: 'too dangerous' } })));
  assert.ok(!w.exists('made'));
  assert.match(text(run.toolResults[0]), /too dangerous/);
  assert.equal(run.toolResults[0].is_error, true);
  assert.equal(run.result.permission_denials.length, 1);
});

test('PreToolUse blocks by the older decision', async (w) => {
  await w.model(turn(call('Bash', { command: 'touch made' })), turn('Done.'));
  const run = await w.ask('go', hook('PreToolUse', async () => ({ decision: 'block', reason: 'old school' })));
  assert.ok(!w.exists('made'));
  assert.match(text(run.toolResults[0]), /old school/);
});

test('PreToolUse changes the input and skips the question', async (w) => {
  await w.model(turn(call('Bash', { command: 'touch old' })), turn('Done.'));
  let asked = 0;
  await w.ask('go', {
    ...hook('PreToolUse', async () => ({ hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'allow', updatedInput: { command: 'touch new' } } })),
    permissionMode: 'default', allowDangerouslySkipPermissions: false, canUseTool: async () => { asked++; return { behavior: 'deny', message: 'no' }; },
  });
  assert.ok(w.exists('new') && !w.exists('old'));
  assert.equal(asked, 0);
});

test('PreToolUse ask asks the host', async (w) => {
  await w.model(turn(call('Bash', { command: 'echo hi' })), turn('Done.'));
  let asked = 0;
  await w.ask('go', {
    ...hook('PreToolUse', async () => ({ hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'ask', permissionDecisionReason: 'look at it' } })),
    permissionMode: 'default', allowDangerouslySkipPermissions: false, canUseTool: async (n, input) => { asked++; return { behavior: 'allow', updatedInput: input }; },
  });
  assert.equal(asked, 1);
});

test('matchers choose the tool', async (w) => {
  const file = w.file('a.txt', 'x\n');
  await w.model(turn(call('Bash', { command: 'echo hi' }), call('Read', { file_path: file })), turn('Done.'));
  const seen = [];
  await w.ask('go', { tools, hooks: { PreToolUse: [
    { matcher: 'Read', hooks: [async (i) => { seen.push('exact ' + i.tool_name); return {}; }] },
    { matcher: 'Bash|Edit', hooks: [async (i) => { seen.push('either ' + i.tool_name); return {}; }] },
    { matcher: '*', hooks: [async (i) => { seen.push('all ' + i.tool_name); return {}; }] },
  ] } });
  assert.deepEqual(seen.sort(), ['all Bash', 'all Read', 'either Bash', 'exact Read']);
});

test('additional context of PreToolUse and PostToolUse reaches the model', async (w) => {
  await w.model(turn(call('Bash', { command: 'echo hi' })), turn('Done.'));
  await w.ask('go', { tools, hooks: {
    PreToolUse: [{ hooks: [async () => ({ hookSpecificOutput: { hookEventName: 'PreToolUse', additionalContext: 'before-mango' } })] }],
    PostToolUse: [{ hooks: [async () => ({ hookSpecificOutput: { hookEventName: 'PostToolUse', additionalContext: 'after-mango' } })] }],
  } });
  assert.match(await last(w), /before-mango/);
  assert.match(await last(w), /after-mango/);
});

test('PostToolUse sees the output and may replace it', async (w) => {
  await w.model(turn(call('Bash', { command: 'echo secret' })), turn('Done.'));
  let seen;
  const run = await w.ask('go', hook('PostToolUse', async (input) => {
    seen = input;
    return { hookSpecificOutput: { hookEventName: 'PostToolUse', updatedToolOutput: { ...input.tool_response, stdout: 'covered' } } };
  }));
  assert.equal(seen.tool_response.stdout, 'secret');
  assert.equal(seen.tool_name, 'Bash');
  assert.equal(run.of('user')[0].tool_use_result.stdout, 'covered');
});

test('PostToolUse block gives feedback and keeps the result', async (w) => {
  await w.model(turn(call('Bash', { command: 'echo hi' })), turn('Done.'));
  const run = await w.ask('go', hook('PostToolUse', async () => ({ decision: 'block', reason: 'please lint it' })));
  assert.match(await last(w), /please lint it/);
  assert.match(text(run.toolResults[0]), /hi/);
});

test('PostToolUseFailure sees the error', async (w) => {
  await w.model(turn(call('Bash', { command: 'exit 7' })), turn('Done.'));
  let seen;
  await w.ask('go', hook('PostToolUseFailure', async (input) => { seen = input; return {}; }));
  assert.equal(seen.hook_event_name, 'PostToolUseFailure');
  assert.match(seen.error, /7/);
  assert.equal(seen.is_interrupt, false);
});

test('PostToolBatch comes once for all calls of an answer', async (w) => {
  await w.model(turn(call('Bash', { command: 'echo 1' }), call('Bash', { command: 'echo 2' })), turn('Done.'));
  const seen = [];
  await w.ask('go', hook('PostToolBatch', async (input) => { seen.push(input); return {}; }));
  assert.equal(seen.length, 1);
  assert.equal(seen[0].tool_calls.length, 2);
});

test('UserPromptSubmit sees the prompt, adds context and can block', async (w) => {
  await w.model(turn('Yes.'));
  const seen = [];
  const add = hook('UserPromptSubmit', async (input) => { seen.push(input.prompt); return { hookSpecificOutput: { hookEventName: 'UserPromptSubmit', additionalContext: 'kiwi-context' } }; });
  await w.ask('say yes', add);
  assert.deepEqual(seen, ['say yes']);
  assert.match(await last(w), /kiwi-context/);
  const before = (await w.requests()).length;
  const run = await w.ask('say no', hook('UserPromptSubmit', async () => ({ decision: 'block', reason: 'not that' })));
  assert.equal((await w.requests()).length, before);
  assert.ok(run.result);
  assert.match(JSON.stringify(run.messages), /not that/);
});

test('Stop can keep the turn going, once', async (w) => {
  await w.model(turn('First.'), turn('Second.'));
  const active = [];
  const run = await w.ask('go', hook('Stop', async (input) => {
    active.push([input.stop_hook_active, input.last_assistant_message]);
    return input.stop_hook_active ? {} : { decision: 'block', reason: 'one more thing' };
  }));
  assert.deepEqual(active, [[false, 'First.'], [true, 'Second.']]);
  assert.equal(run.result.result, 'Second.');
  assert.match(await last(w), /one more thing/);
});

test('continue false ends the turn', async (w) => {
  await w.model(turn(call('Bash', { command: 'echo hi' })), turn('never'));
  const run = await w.ask('go', hook('PostToolUse', async () => ({ continue: false, stopReason: 'enough' })));
  assert.equal((await w.requests()).length, 1);
  assert.equal(run.result.subtype, 'success');
  assert.equal(run.result.is_error, false);
  assert.equal(run.result.terminal_reason, 'hook_stopped');
});

test('systemMessage is shown as information', async (w) => {
  await w.model(turn(call('Bash', { command: 'echo hi' })), turn('Done.'));
  const run = await w.ask('go', hook('PreToolUse', async () => ({ systemMessage: 'just so you know' })));
  assert.ok(run.of('system', 'informational').some((m) => /just so you know/.test(m.content)));
});

test('a callback that throws is a warning, and the call runs', async (w) => {
  await w.model(turn(call('Bash', { command: 'echo hi' })), turn('Done.'));
  const run = await w.ask('go', hook('PreToolUse', async () => { throw new Error('hook broke'); }));
  assert.equal(text(run.toolResults[0]), 'hi');
  const [warning] = run.of('system', 'informational');
  assert.equal(warning.level, 'warning');
  assert.equal(run.result.subtype, 'success');
});

test('a callback that never answers in time has not let the call pass', async (w) => {
  await w.model(turn(call('Bash', { command: 'echo hi' })), turn('Done.'));
  const run = await w.ask('go', hook('PreToolUse', () => new Promise(() => {}), { timeout: 1 }));
  assert.equal(run.result.subtype, 'success');
  assert.equal(run.toolResults[0].is_error, true);
});

test('PermissionRequest may answer in place of the host', async (w) => {
  await w.model(turn(call('Bash', { command: 'touch made' })), turn('Done.'));
  let seen;
  await w.ask('go', {
    ...hook('PermissionRequest', async (input) => { seen = input; return { hookSpecificOutput: { hookEventName: 'PermissionRequest', decision: { behavior: 'allow' } } }; }),
    permissionMode: 'default', allowDangerouslySkipPermissions: false, canUseTool: () => new Promise(() => {}),
  });
  assert.equal(seen.tool_name, 'Bash');
  assert.ok(w.exists('made'));
});

test('PreCompact and PostCompact come with a compaction', async (w) => {
  await w.model(turn('First.'), turn('<summary>What was said.</summary>'), turn('Third.'));
  const seen = [];
  const prompts = feed('one');
  const note = async (input) => { seen.push([input.hook_event_name, input.trigger]); return {}; };
  const run = await collect(w.query(prompts, { tools, hooks: { PreCompact: [{ hooks: [note] }], PostCompact: [{ hooks: [note] }] } }), (m, run) => {
    if (m.type === 'result') run.results.length === 1 ? prompts.push('/compact') : prompts.end();
  });
  assert.deepEqual(seen, [['PreCompact', 'manual'], ['PostCompact', 'manual']]);
  assert.equal(run.of('system', 'compact_boundary').length, 1);
});

test('SubagentStart and SubagentStop come around an agent', async (w) => {
  await w.model({ turns: [turn(call('Agent', { description: 'look', prompt: 'PART: look around', subagent_type: 'scout', run_in_background: false })), turn('Done.')], parts: [{ when: 'PART: look around', turns: [turn('All quiet.')] }] });
  const seen = [];
  const note = async (input) => { seen.push([input.hook_event_name, input.agent_type, Boolean(input.agent_id)]); return {}; };
  await w.ask('go', { agents: { scout: { description: 'looks', prompt: 'You look.' } }, hooks: { SubagentStart: [{ hooks: [note] }], SubagentStop: [{ hooks: [note] }] } });
  assert.deepEqual(seen, [['SubagentStart', 'scout', true], ['SubagentStop', 'scout', true]]);
});

test('command hooks of the user settings run, and say so when asked to', async (w) => {
  fs.mkdirSync(path.join(w.home, '.claude'), { recursive: true });
  fs.writeFileSync(path.join(w.home, '.claude/settings.json'), JSON.stringify({ hooks: {
    PreToolUse: [{ matcher: 'Bash', hooks: [{ type: 'command', command: 'cat > ' + path.join(w.root, 'input.json') }] }],
    SessionStart: [{ hooks: [{ type: 'command', command: 'echo fig-context' }] }],
  } }));
  await w.model(turn(call('Bash', { command: 'echo hi' })), turn('Done.'));
  const run = await w.ask('go', { tools, includeHookEvents: true });
  const input = JSON.parse(fs.readFileSync(path.join(w.root, 'input.json'), 'utf8'));
  assert.equal(input.tool_name, 'Bash');
  assert.equal(input.hook_event_name, 'PreToolUse');
  const names = run.of('system', 'hook_response').map((m) => m.hook_name);
  assert.ok(names.includes('PreToolUse:Bash'), JSON.stringify(names));
  const [response] = run.of('system', 'hook_response').filter((m) => m.hook_name === 'PreToolUse:Bash');
  assert.equal(response.outcome, 'success');
  assert.equal(response.exit_code, 0);
  assert.equal(run.of('system', 'hook_started').length, run.of('system', 'hook_response').length);
  assert.match(JSON.stringify((await w.requests())[0].messages), /fig-context/);
});

test('a command hook that exits with 2 blocks with its words', async (w) => {
  fs.mkdirSync(path.join(w.home, '.claude'), { recursive: true });
  fs.writeFileSync(path.join(w.home, '.claude/settings.json'), JSON.stringify({ hooks: { PreToolUse: [{ matcher: 'Bash', hooks: [{ type: 'command', command: 'echo nope >&2; exit 2' }] }] } }));
  await w.model(turn(call('Bash', { command: 'touch made' })), turn('Done.'));
  const run = await w.ask('go', { tools });
  assert.ok(!w.exists('made'));
  assert.match(text(run.toolResults[0]), /nope/);
});

test('several callbacks of one event all run', async (w) => {
  await w.model(turn(call('Bash', { command: 'echo hi' })), turn('Done.'));
  const seen = [];
  await w.ask('go', { tools, hooks: { PreToolUse: [{ hooks: [async () => { seen.push(1); return {}; }, async () => { seen.push(2); return {}; }] }, { hooks: [async () => { seen.push(3); return {}; }] }] } });
  assert.deepEqual(seen.sort(), [1, 2, 3]);
});

test('SessionEnd reaches callbacks that can still be reached', async (w) => {
  await w.model(turn('Done.'));
  const run = await w.ask('go', hook('SessionEnd', async () => ({})));
  assert.equal(run.error, undefined);
  assert.equal(run.result.subtype, 'success');
});
