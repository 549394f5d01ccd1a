// What else programs on the SDK use.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { call, collect, feed, reference, sdk, sleep, text, test, turn, until, user } from '../suite.mjs';

const tools = ['Bash', 'Read', 'Write', 'Edit'];

test('a tool of an MCP server decides in place of the callback', async (w) => {
  const seen = [];
  const gate = sdk.createSdkMcpServer({ name: 'gate', tools: [
    sdk.tool('decide', 'Decides', { tool_name: z.string(), input: z.any(), tool_use_id: z.string().optional() }, async ({ tool_name, input }) => {
      seen.push(tool_name);
      const answer = input.command === 'touch yes' ? { behavior: 'allow', updatedInput: input } : { behavior: 'deny', message: 'the gate is shut' };
      return { content: [{ type: 'text', text: JSON.stringify(answer) }] };
    }),
  ] });
  await w.model(turn(call('Bash', { command: 'touch yes' })), turn(call('Bash', { command: 'touch no' })), turn('Done.'));
  const run = await w.ask('go', { tools, permissionMode: 'default', allowDangerouslySkipPermissions: false, mcpServers: { gate }, permissionPromptToolName: 'mcp__gate__decide' });
  assert.equal(run.error, undefined);
  assert.deepEqual(seen, ['Bash', 'Bash']);
  assert.ok(w.exists('yes') && !w.exists('no'));
  assert.match(text(run.toolResults[1]), /the gate is shut/);
});

test('an agent can lead the conversation', async (w) => {
  await w.model(turn('Arr.'));
  const run = await w.ask('go', { agent: 'pirate', agents: { pirate: { description: 'a pirate', prompt: 'You are a pirate.', tools: ['Read', 'Bash'] } } });
  assert.equal(run.result.result, 'Arr.');
  const [r] = await w.requests();
  assert.match(JSON.stringify(r.system), /You are a pirate\./);
});

test('a plugin brings commands', async (w) => {
  const plugin = path.join(w.root, 'plugin');
  fs.mkdirSync(path.join(plugin, '.claude-plugin'), { recursive: true });
  fs.mkdirSync(path.join(plugin, 'commands'));
  fs.writeFileSync(path.join(plugin, '.claude-plugin/plugin.json'), JSON.stringify({ name: 'fruit', version: '1.0.0', description: 'fruit' }));
  fs.writeFileSync(path.join(plugin, 'commands/peel.md'), '---\ndescription: peels\n---\nPeel the $ARGUMENTS.\n');
  await w.model(turn('Peeled.'));
  const run = await w.ask('/fruit:peel mango', { tools, plugins: [{ type: 'local', path: plugin }] });
  assert.ok(run.init.plugins.some((p) => p.name === 'fruit'));
  assert.ok(run.init.slash_commands.includes('fruit:peel'));
  assert.match(JSON.stringify((await w.requests())[0].messages), /Peel the mango\./);
});

test('a skill of the project can be called', async (w) => {
  w.file('.claude/skills/peeling/SKILL.md', '---\nname: peeling\ndescription: how to peel fruit\n---\nStart at the top-kiwi.\n');
  await w.model(turn(call('Skill', { skill: 'peeling' })), turn('Peeled.'));
  const run = await w.ask('go', { settingSources: ['project'], skills: 'all' });
  assert.ok(run.init.skills.includes('peeling'), JSON.stringify(run.init.skills));
  assert.match(JSON.stringify((await w.requests()).at(-1).messages), /top-kiwi/);
});

test('an agent of the project can be given work', async (w) => {
  w.file('.claude/agents/scout.md', '---\nname: scout\ndescription: looks around\n---\nYou look around.\n');
  await w.model({ turns: [turn(call('Agent', { description: 'look', prompt: 'PART: look', subagent_type: 'scout', run_in_background: false })), turn('Done.')], parts: [{ when: 'PART: look', turns: [turn('All quiet.')] }] });
  const run = await w.ask('go', { settingSources: ['project'] });
  assert.ok(run.init.agents.includes('scout'));
  assert.match(text(run.toolResults.at(-1)), /All quiet\./);
});

test('sessions are kept where CLAUDE_CONFIG_DIR says', async (w) => {
  w.env.CLAUDE_CONFIG_DIR = path.join(w.root, 'config');
  await w.model(turn('First.'), turn('Second.'));
  const first = await w.ask('one', { tools });
  const folder = path.join(w.root, 'config/projects', w.dir.replace(/[^a-zA-Z0-9]/g, '-'));
  assert.ok(fs.existsSync(path.join(folder, first.init.session_id + '.jsonl')));
  const second = await w.ask('two', { tools, resume: first.init.session_id });
  assert.equal(second.init.session_id, first.init.session_id);
});

test('a hook that must not fail blocks when it does', async (w) => {
  await w.model(turn(call('Bash', { command: 'touch made' })), turn('Done.'));
  const run = await w.ask('go', { tools, hooks: { PreToolUse: [{ hooks: [async () => { throw new Error('hook broke'); }], onFailure: 'block' }] } });
  assert.ok(!w.exists('made'));
  assert.equal(run.toolResults[0].is_error, true);
});

test('a hook of the project runs for a program that names the project as a source', async (w) => {
  w.file('.claude/settings.json', JSON.stringify({ hooks: { PreToolUse: [{ matcher: 'Bash', hooks: [{ type: 'command', command: 'touch hook-ran; echo no kiwis here >&2; exit 2' }] }] } }));
  await w.model(turn(call('Bash', { command: 'touch made' })), turn('Done.'));
  const run = await w.ask('go', { tools, settingSources: ['project'] });
  assert.ok(w.exists('hook-ran') && !w.exists('made'));
  assert.equal(run.toolResults[0].is_error, true);
  assert.match(text(run.toolResults[0]), /no kiwis here/);
});

test('a callback that answers something else than it meant blocks', async (w) => {
  if (reference) return; // which takes it for no objection
  await w.model(turn(call('Bash', { command: 'touch made' })), turn('Done.'));
  const run = await w.ask('go', { tools, hooks: { PreToolUse: [{ hooks: [async () => ({ hookSpecificOutput: { hookEventName: 'PreToolUse', permisionDecision: 'deny' } })] }] } });
  assert.ok(!w.exists('made'));
  assert.equal(run.toolResults[0].is_error, true);
});

test('questions about parallel calls are all answered', async (w) => {
  await w.model(turn(...[1, 2, 3].map((n) => call('Bash', { command: `touch f${n}` }))), turn('Done.'));
  const asked = [];
  const run = await w.ask('go', { tools, permissionMode: 'default', allowDangerouslySkipPermissions: false, canUseTool: async (n, input) => { asked.push(input.command); await sleep(50); return input.command === 'touch f2' ? { behavior: 'deny', message: 'no' } : { behavior: 'allow', updatedInput: input }; } });
  assert.equal(asked.length, 3);
  assert.ok(w.exists('f1') && !w.exists('f2') && w.exists('f3'));
  assert.equal(run.result.permission_denials.length, 1);
});

test('sub-agents of a session can be listed', async (w) => {
  await w.model({ turns: [turn(call('Agent', { description: 'look', prompt: 'PART: look', subagent_type: 'scout', run_in_background: false })), turn('Done.')], parts: [{ when: 'PART: look', turns: [turn('All quiet.')] }] });
  const run = await w.ask('go', { agents: { scout: { description: 'looks', prompt: 'You look.' } } });
  process.env.CLAUDE_CONFIG_DIR = path.join(w.home, '.claude');
  const agents = await sdk.listSubagents(run.init.session_id, { dir: w.dir });
  assert.equal(agents.length, 1);
  const messages = await sdk.getSubagentMessages(run.init.session_id, agents[0], { dir: w.dir });
  assert.match(JSON.stringify(messages), /All quiet\./);
});

test('an agent in the background can still ask the host after the turn', async (w) => {
  await w.model({ turns: [turn(call('Agent', { description: 'look', prompt: 'PART: look', subagent_type: 'scout', run_in_background: true })), turn('Sent.'), turn('Back.')], parts: [{ when: 'PART: look', turns: [{ ...turn(call('Bash', { command: 'touch made' })), ttft_ms: 1000 }, turn('All quiet.')] }] });
  const run = await w.ask('go', { agents: { scout: { description: 'looks', prompt: 'You look.' } }, permissionMode: 'default', allowDangerouslySkipPermissions: false, canUseTool: async (n, input) => ({ behavior: 'allow', updatedInput: input }) });
  assert.ok(w.exists('made'), JSON.stringify(run.shape));
  assert.equal(run.results.length, 2);
});

test('streamInput adds to a conversation', async (w) => {
  await w.model(turn('First.'), turn('Second.'));
  const prompts = feed('one');
  const q = w.query(prompts, { tools });
  const run = await collect(q, (m, run) => {
    if (m.type !== 'result') return;
    if (run.results.length === 1) q.streamInput((async function* () { yield user('two'); })()); else prompts.end();
  });
  assert.deepEqual(run.results.map((r) => r.result), ['First.', 'Second.']);
});

test('the model of the environment is used when none is given', async (w) => {
  w.env.ANTHROPIC_MODEL = 'claude-sonnet-4-5';
  await w.model(turn('Hello.'));
  const run = await w.ask('go', { tools, model: undefined });
  assert.match(run.init.model, /claude-sonnet-4-5/);
});

test('an effort reaches the request', async (w) => {
  await w.model(turn('Hello.'));
  await w.ask('go', { tools, effort: 'low' });
  assert.equal((await w.requests())[0].output_config?.effort, 'low');
});

test('a bash command that takes too long is ended or moved', async (w) => {
  await w.model(turn(call('Bash', { command: 'while true; do sleep 0.2; done', timeout: 1000 })), turn('I see.'), turn('Stopped.'));
  const abortController = new AbortController();
  const run = await collect(w.query('go', { tools, abortController }), (m) => (m.type === 'result' ? 'stop' : undefined));
  const [r] = run.of('user');
  assert.ok(r.tool_use_result.backgroundTaskId || r.message.content[0].is_error, JSON.stringify(r));
});

test('the session goes on in the folder that commands change to', async (w) => {
  fs.mkdirSync(path.join(w.dir, 'sub'));
  await w.model(turn(call('Bash', { command: 'cd sub' })), turn(call('Bash', { command: 'pwd' })), turn('Done.'));
  const run = await w.ask('go', { tools });
  assert.equal(text(run.toolResults[1]), path.join(w.dir, 'sub'));
});

test('user settings are read, and left out when they are not named', async (w) => {
  fs.mkdirSync(path.join(w.home, '.claude'));
  fs.writeFileSync(path.join(w.home, '.claude/settings.json'), JSON.stringify({ permissions: { deny: ['Bash(touch:*)'] } }));
  fs.writeFileSync(path.join(w.home, '.claude/CLAUDE.md'), 'The word of the user is papaya.\n');
  await w.model(turn(call('Bash', { command: 'touch made' })), turn('Done.'));
  await w.ask('go', { tools });
  assert.ok(!w.exists('made'));
  assert.match(JSON.stringify((await w.requests())[0]), /papaya/);
  await w.ask('go', { tools, settingSources: ['project'] });
  assert.ok(w.exists('made'));
});

test('the transcript of a failed session says so and can be resumed', async (w) => {
  await w.model(turn(call('Bash', { command: 'echo 1' })), turn(call('Bash', { command: 'echo 2' })), turn('At last.'));
  const first = await w.ask('go', { tools, maxTurns: 1 });
  assert.equal(first.result.subtype, 'error_max_turns');
  const second = await w.ask('go on', { tools, resume: first.result.session_id });
  assert.equal(second.result.result, 'At last.');
});
