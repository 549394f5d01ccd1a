// Work beside the turn: background commands and sub-agents.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { call, collect, feed, reference, sdk, text, test, turn, until } from '../suite.mjs';
import path from 'node:path';

const tools = ['Bash', 'Read', 'Write', 'Edit'];
const agents = { scout: { description: 'looks around', prompt: 'You look around.', tools: ['Bash', 'Read'] } };
const scout = (more = {}) => call('Agent', { description: 'look around', prompt: 'PART: look around', subagent_type: 'scout', run_in_background: false, ...more }, 'toolu_agent');
const part = (...turns) => [{ when: 'PART: look around', turns }];

test('a background command returns at once, and its end is a turn of its own', async (w) => {
  await w.model(turn(call('Bash', { command: 'sleep 0.5; echo finished', run_in_background: true }, 'toolu_bg')), turn('Started.'), turn('I saw it end.'));
  const run = await w.ask('go', { tools });
  assert.equal(run.error, undefined);
  const id = run.of('user')[0].tool_use_result.backgroundTaskId;
  assert.ok(id);
  const [started] = run.of('system', 'task_started');
  assert.equal(started.task_id, id);
  assert.equal(started.tool_use_id, 'toolu_bg');
  assert.equal(started.task_type, 'local_bash');
  const [ended] = run.of('system', 'task_notification');
  assert.equal(ended.task_id, id);
  assert.equal(ended.status, 'completed');
  assert.ok(fs.existsSync(ended.output_file) || ended.output_file);
  assert.deepEqual(run.of('system', 'background_tasks_changed').map((m) => m.tasks.length), [1, 0]);
  assert.deepEqual(run.results.map((r) => r.result), ['Started.', 'I saw it end.']);
  assert.equal(run.results[1].origin.kind, 'task-notification');
  assert.equal(run.of('system', 'init').length, 2);
});

test('stopTask ends a background command', async (w) => {
  await w.model(turn(call('Bash', { command: 'sleep 30', run_in_background: true })), turn('Started.'), turn('Stopped it.'));
  const prompts = feed('go');
  const q = w.query(prompts, { tools });
  const run = await collect(q, async (m, run) => {
    if (m.type === 'result' && run.results.length === 1) { await q.stopTask(run.of('system', 'task_started')[0].task_id); prompts.end(); }
  });
  assert.equal(run.of('system', 'task_notification')[0].status, 'stopped');
  assert.equal(run.error, undefined);
});

test('stopping a task that does not exist does no harm', async (w) => {
  await w.model(turn('Yes.'));
  const prompts = feed('go');
  const q = w.query(prompts, { tools });
  const run = await collect(q, async (m) => {
    if (m.type === 'result') { await q.stopTask('nonsense'); prompts.end(); }
  });
  assert.equal(run.error, undefined);
});

test('a foreground sub-agent reports under its call', async (w) => {
  await w.model({ turns: [turn(scout()), turn('Done.')], parts: part(turn(call('Bash', { command: 'echo seen' })), turn('All quiet.')) });
  const run = await w.ask('go', { agents });
  assert.equal(run.error, undefined);
  assert.equal(run.result.result, 'Done.');
  const inner = run.messages.filter((m) => m.parent_tool_use_id === 'toolu_agent');
  const kinds = inner.map((m) => `${m.type}/${m.message.content[0]?.type}`);
  assert.deepEqual(kinds, ['user/text', 'assistant/tool_use', 'user/tool_result']);
  assert.ok(inner.slice(1).every((m) => m.subagent_type === 'scout'));
  const [started] = run.of('system', 'task_started');
  assert.equal(started.task_type, 'local_agent');
  assert.equal(started.tool_use_id, 'toolu_agent');
  assert.equal(started.subagent_type, 'scout');
  assert.equal(run.of('system', 'task_notification')[0].status, 'completed');
  assert.ok(run.of('system', 'task_progress').length >= 1);
  const own = run.of('user').find((m) => m.parent_tool_use_id === null && m.message.content[0].tool_use_id === 'toolu_agent');
  assert.match(text(own.message.content[0]), /All quiet\./);
  assert.equal(own.tool_use_result.status, 'completed');
  assert.equal(own.tool_use_result.agentType, 'scout');
  assert.equal(own.tool_use_result.totalToolUseCount, 1);
  assert.equal(run.result.num_turns, 2);
});

test('text of sub-agents is told when it is asked for', async (w) => {
  await w.model({ turns: [turn(scout()), turn('Done.')], parts: part(turn('All quiet.')) });
  const run = await w.ask('go', { agents, forwardSubagentText: true });
  const inner = run.of('assistant').filter((m) => m.parent_tool_use_id === 'toolu_agent');
  assert.deepEqual(inner.map((m) => m.message.content[0].text), ['All quiet.']);
});

test('an agent has its own prompt and tools', async (w) => {
  await w.model({ turns: [turn(scout()), turn('Done.')], parts: part(turn('All quiet.')) });
  await w.ask('go', { agents });
  const inner = (await w.requests()).find((r) => JSON.stringify(r.messages).includes('PART: look around') && !JSON.stringify(r.messages).includes('toolu_agent'));
  assert.match(JSON.stringify(inner.system), /You look around\./);
  const names = inner.tools.map((t) => t.name).filter((n) => n === 'Bash' || n === 'Read' || n === 'Write' || n === 'Edit');
  assert.deepEqual(names.sort(), ['Bash', 'Read']);
});

test('a background agent lets the turn go on and is heard of later', async (w) => {
  await w.model({ turns: [turn(scout({ run_in_background: true })), turn('Sent it off.'), turn('It is back.')], parts: part(turn(call('Bash', { command: 'sleep 0.5; echo seen' })), turn('All quiet.')) });
  const run = await w.ask('go', { agents });
  assert.equal(run.error, undefined);
  const own = run.of('user').find((m) => m.parent_tool_use_id === null && m.message.content[0].tool_use_id === 'toolu_agent');
  assert.equal(own.tool_use_result.status, 'async_launched');
  assert.deepEqual(run.results.map((r) => r.result), ['Sent it off.', 'It is back.']);
  assert.equal(run.results[1].origin.kind, 'task-notification');
  assert.equal(run.of('system', 'task_notification')[0].status, 'completed');
});

test('an agent asks the same host', async (w) => {
  await w.model({ turns: [turn(scout()), turn('Done.')], parts: part(turn(call('Bash', { command: 'touch made' })), turn('All quiet.')) });
  const asked = [];
  await w.ask('go', { agents, permissionMode: 'default', allowDangerouslySkipPermissions: false, canUseTool: async (name, input, more) => { asked.push([name, Boolean(more.agentID)]); return { behavior: 'allow', updatedInput: input }; } });
  assert.ok(asked.some(([name, inside]) => name === 'Bash' && inside), JSON.stringify(asked));
  assert.ok(w.exists('made'));
});

test('a kind of agent that does not exist is sent to the model', async (w) => {
  await w.model(turn(scout({ subagent_type: 'nobody' })), turn('Sorry.'));
  const run = await w.ask('go', { agents });
  assert.equal(run.toolResults[0].is_error, true);
  assert.equal(run.result.result, 'Sorry.');
});

test('what agents cost is part of the total', async (w) => {
  const usage = { input_tokens: 100, output_tokens: 10 };
  await w.model({ turns: [{ ...turn(scout()), usage }, { ...turn('Done.'), usage }], parts: part({ ...turn('All quiet.'), usage }) });
  const run = await w.ask('go', { agents });
  assert.equal(Object.values(run.result.modelUsage).reduce((n, u) => n + u.outputTokens, 0), 30);
});

test('the Task name still calls an agent', async (w) => {
  await w.model({ turns: [turn({ ...scout(), tool: 'Task' }), turn('Done.')], parts: part(turn('All quiet.')) });
  const run = await w.ask('go', { agents });
  assert.notEqual(run.toolResults.at(-1).is_error, true);
});

test('backgroundTasks lets go of a command that runs', async (w) => {
  await w.model(turn(call('Bash', { command: 'echo begun; touch runs; while [ ! -e stop ]; do sleep 0.05; done; echo ended' }, 'toolu_long')), turn('Going on.'), turn('I saw it end.'));
  const prompts = feed('go');
  const q = w.query(prompts, { tools });
  const run = await collect(q, async (m, run) => {
    if (m.type === 'assistant' && m.message.content[0].type === 'tool_use') {
      await until('the command runs', () => w.exists('runs'));
      assert.equal(await q.backgroundTasks('toolu_of_nobody'), false);
      // A command can do its first work before haft has noted that it runs.
      await until('the command is let go', () => q.backgroundTasks('toolu_long'));
    }
    if (m.type === 'result' && run.results.length === 1) w.file('stop', '');
    if (m.type === 'result' && run.results.length === 2) prompts.end();
  });
  assert.equal(run.error, undefined);
  const result = run.of('user')[0].tool_use_result;
  assert.ok(result.backgroundTaskId && result.backgroundedByUser);
  assert.equal(run.toolResults[0].is_error ?? false, false);
  assert.equal(run.of('system', 'task_notification')[0].status, 'completed');
  assert.deepEqual(run.results.map((r) => r.result), ['Going on.', 'I saw it end.']);
});

test('backgroundTasks lets go of an agent that works', async (w) => {
  await w.model({ turns: [turn(scout()), turn('Going on.'), turn('It is back.')], parts: part(turn(call('Bash', { command: 'touch runs; while [ ! -e stop ]; do sleep 0.05; done' })), turn('All quiet.')) });
  const prompts = feed('go');
  const q = w.query(prompts, { agents });
  let asked;
  const run = await collect(q, async (m, run) => {
    if (m.type === 'assistant' && m.parent_tool_use_id && !asked) {
      asked = true;
      await until('the agent works', () => w.exists('runs'));
      assert.equal(await q.backgroundTasks('toolu_agent'), true);
    }
    if (m.type === 'result' && run.results.length === 1) w.file('stop', '');
    if (m.type === 'result' && run.results.length === 2) prompts.end();
  });
  assert.equal(run.error, undefined);
  assert.equal(run.of('user').find((m) => !m.parent_tool_use_id).tool_use_result.status, 'async_launched');
  assert.equal(run.of('system', 'task_notification').at(-1).status, 'completed');
  assert.deepEqual(run.results.map((r) => r.result), ['Going on.', 'It is back.']);
});
