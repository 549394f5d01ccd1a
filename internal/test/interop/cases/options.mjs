// Options that change how a session is led.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { call, collect, feed, reference, sdk, text, test, turn, until, user } from '../suite.mjs';

const tools = ['Bash', 'Read', 'Write', 'Edit'];

test('an alias leads a call to another tool', async (w) => {
  const far = sdk.createSdkMcpServer({ name: 'far', tools: [sdk.tool('bash', 'runs far away', { command: z.string() }, async (a) => ({ content: [{ type: 'text', text: 'far away: ' + a.command }] }))] });
  await w.model(turn(call('Bash', { command: 'echo hi' })), turn('Done.'));
  const run = await w.ask('go', { toolAliases: { Bash: 'mcp__far__bash' }, disallowedTools: ['Bash'], mcpServers: { far } });
  assert.equal(text(run.toolResults[0]), 'far away: echo hi');
});

test('only the chosen skills can be used', async (w) => {
  w.file('.claude/skills/pdf/SKILL.md', '---\nname: pdf\ndescription: reads-pdfs\n---\nUse the pdf-kiwi.\n');
  w.file('.claude/skills/doc/SKILL.md', '---\nname: doc\ndescription: reads-docs\n---\nUse the doc-kiwi.\n');
  await w.model(turn(call('Skill', { skill: 'pdf' })), turn(call('Skill', { skill: 'doc' })), turn('Done.'));
  const run = await w.ask('go', { settingSources: ['project'], skills: ['pdf'], permissionMode: 'default' });
  assert.deepEqual(run.toolResults.map((r) => Boolean(r.is_error)), [false, true]);
  const said = JSON.stringify((await w.requests())[0]);
  assert.ok(said.includes('reads-pdfs') && !said.includes('reads-docs'));
});

test('planning goes by the instructions of the program', async (w) => {
  await w.model(turn('A plan.'));
  await w.ask('go', { permissionMode: 'plan', planModeInstructions: 'Plan backwards.' });
  assert.match(JSON.stringify((await w.requests())[0].messages), /Plan backwards\./);
});

test('plugins come with initialize as well', async (w) => {
  const plugin = path.join(w.root, 'plugin');
  fs.mkdirSync(path.join(plugin, '.claude-plugin'), { recursive: true });
  fs.writeFileSync(path.join(plugin, '.claude-plugin/plugin.json'), JSON.stringify({ name: 'fruit', version: '1.0.0', description: 'fruit' }));
  await w.model(turn('Done.'));
  const q = w.query('go', { tools, plugins: [{ type: 'local', path: plugin }], pluginDelivery: 'initialize' });
  assert.equal((await q.initializationResult()).plugins_applied, true);
  const run = await collect(q);
  assert.deepEqual(run.init.plugins.filter((p) => p.name === 'fruit').map((p) => p.version), ['1.0.0']);
});

test('a literal prompt is no command', async (w) => {
  await w.model(turn('Noted.'));
  const run = await w.ask('/cost of living', { tools, verbatimPrompts: true });
  assert.equal(run.result.result, 'Noted.');
  assert.match(JSON.stringify((await w.requests())[0].messages), /\/cost of living/);
});

test('a title is the session’s name', async (w) => {
  await w.model(turn('Done.'));
  const run = await w.ask('go', { tools, title: 'Fruit salad' });
  assert.deepEqual(run.of('system', 'session_title_changed').map((m) => m.title), ['Fruit salad']);
});

test('a budget for the work is sent to the model', async (w) => {
  await w.model(turn('Done.'));
  await w.ask('go', { tools, taskBudget: { total: 20000 } });
  assert.deepEqual((await w.requests())[0].output_config.task_budget, { type: 'tokens', total: 20000 });
});

test('managed settings restrict, and never widen', async (w) => {
  await w.model(turn(call('Bash', { command: 'touch a' })), turn(call('Bash', { command: 'touch b' })), turn('Done.'));
  const run = await w.ask('go', { tools, managedSettings: { permissions: { deny: ['Bash(touch a)'], allow: ['Bash'], disableBypassPermissionsMode: 'disable' } } });
  assert.equal(run.init.permissionMode, 'default');
  assert.ok(!w.exists('a') && !w.exists('b'));
});

test('a session store gets what is written, and a session goes on from it', async (w) => {
  w.env.CLAUDE_CONFIG_DIR = path.join(w.home, '.claude');
  const store = new sdk.InMemorySessionStore();
  await w.model(turn(call('Bash', { command: 'echo one-kiwi' })), turn('First.'), turn('Second.'));
  const first = await w.ask('remember the mango', { tools, sessionStore: store });
  fs.rmSync(path.join(w.env.CLAUDE_CONFIG_DIR, 'projects'), { recursive: true, force: true });
  const run = await w.ask('again', { tools, sessionStore: store, resume: first.init.session_id });
  assert.equal(run.error, undefined);
  const said = JSON.stringify((await w.requests()).at(-1).messages);
  assert.ok(said.includes('remember the mango') && said.includes('one-kiwi'));
});

test('an agent’s effort is that of its requests', async (w) => {
  await w.model({ turns: [turn(call('Agent', { description: 'd', prompt: 'PART: go', subagent_type: 'calm', run_in_background: false })), turn('Done.')], parts: [{ when: 'PART: go', turns: [turn('Calm.')] }] });
  await w.ask('go', { agents: { calm: { description: 'calm', prompt: 'Be calm.', effort: 'low' } } });
  assert.deepEqual((await w.requests()).map((r) => r.output_config?.effort === 'low'), [false, true, false]);
});

test('an agent that leads has its first words', async (w) => {
  await w.model(turn('One.'), turn('Two.'));
  const run = await w.ask('go', { agent: 'host', agents: { host: { description: 'a host', prompt: 'You are a host.', initialPrompt: 'Say welcome.' } } });
  assert.equal(run.result.result, 'Two.');
  assert.match(JSON.stringify((await w.requests())[0].messages), /Say welcome\./);
});

test('parts of a system prompt are joined without their mark', async (w) => {
  await w.model(turn('Done.'));
  await w.ask('go', { tools, systemPrompt: ['Always so.', '__SYSTEM_PROMPT_DYNAMIC_BOUNDARY__', 'Today so.'] });
  assert.equal((await w.requests())[0].system.at(-1).text, 'Always so.\n\nToday so.');
});

test('hooks are told how long a call took', async (w) => {
  const took = [];
  const note = { hooks: [async (i) => { took.push([i.hook_event_name, typeof i.duration_ms]); return {}; }] };
  await w.model(turn(call('Bash', { command: 'true' })), turn(call('Bash', { command: 'false' })), turn('Done.'));
  await w.ask('go', { tools, hooks: { PostToolUse: [note], PostToolUseFailure: [note] } });
  assert.deepEqual(took, [['PostToolUse', 'number'], ['PostToolUseFailure', 'number']]);
});

test('files that a prompt mentions come with it', async (w) => {
  w.file('note.txt', 'the mango-kiwi is ripe\n');
  w.file('.env', 'KEY=secret-kiwi\n');
  await w.model(turn('One.'), turn('Two.'));
  const run = await w.ask('look at @note.txt, @nothing.txt and a@b.c', { tools });
  assert.equal(run.result.result, 'One.');
  assert.match(JSON.stringify((await w.requests())[0].messages), /mango-kiwi is ripe/);
  await w.ask('look at @note.txt', { tools, verbatimPrompts: true });
  assert.doesNotMatch(JSON.stringify((await w.requests())[1].messages), /mango-kiwi is ripe/);
});

test('a resume that leaves out more than its turn is refused', async (w) => {
  await w.model(turn('One.'), turn('Two.'), turn('Three.'));
  const second = crypto.randomUUID();
  const prompts = feed('a');
  const first = await collect(w.query(prompts, { tools }), (m, run) => {
    if (m.type === 'result' && run.results.length === 1) prompts.push(user('b', { uuid: second }));
    if (m.type === 'result' && run.results.length === 2) prompts.end();
  });
  const back = { tools, resume: first.init.session_id, resumeSessionAt: first.of('assistant')[0].uuid, forkSession: true };
  const run = await w.ask('c', { ...back, resumeDropsTurn: second });
  assert.equal(run.error, undefined);
  const refused = await w.ask('d', { ...back, resumeDropsTurn: crypto.randomUUID() });
  assert.match(refused.result.errors[0], /^Resume rejected by --resume-drops-turn:/);
});

test('names of tools that haft has none like are no error', async (w) => {
  await w.model({ turns: [turn('Done.')] });
  const run = await w.ask('go', { allowedTools: ['FancyTool'], disallowedTools: ['NotebookRead', 'FancyTool(x:*)', 'Bsah'] });
  assert.equal(run.result.subtype, 'success');
});
