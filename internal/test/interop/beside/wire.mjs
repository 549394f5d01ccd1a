// What both programs write, compared where programs have come to depend on it.
import assert from 'node:assert/strict';
import { both, call, feed, sdk, test, turn } from '../suite.mjs';

const stream = ['--input-format', 'stream-json'];
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const uuid = (n) => `${n}1111111-1111-4111-8111-111111111111`;

/** same does something with both programs, which must come to the same. */
const same = (name, act) => test(name, async (w) => {
  const got = await both(w, (exe, who) => act(w, exe, who));
  assert.deepEqual(got.haft, got.reference);
});

same('a call begins with an empty input', async (w, exe) => {
  await w.model(turn(call('Bash', { command: 'echo hi' }, 'toolu_1')), turn('Done.'));
  const lines = await w.command(exe, [...stream, '--include-partial-messages'], w.line('hi'));
  const block = lines.find((l) => l.event?.type === 'content_block_start' && l.event.content_block.type === 'tool_use').event.content_block;
  assert.deepEqual(block.input, {});
  return block;
});

same('who wrote a prompt is echoed', async (w, exe) => {
  await w.model(turn('one'), turn('two'), turn('three'));
  const input = w.line('hi', { origin: { kind: 'human' } }) + w.line([{ type: 'text', text: 'and' }], { origin: { kind: 'channel', server: 'x' }, priority: 'later' });
  const lines = await w.command(exe, [...stream, '--replay-user-messages'], input);
  const found = lines.filter((l) => l.isReplay || l.type === 'result').map((l) => [l.type, l.origin]);
  assert.deepEqual(found[0], ['user', { kind: 'human' }]);
  return found;
});

same('json with --verbose is a list of every message', async (w, exe) => {
  await w.model(turn('hello'));
  const [list] = await w.command(exe, ['-p', 'hi', '--output-format', 'json', '--verbose']);
  assert.ok(Array.isArray(list));
  const [one] = await w.command(exe, ['-p', 'hi', '--output-format', 'json']);
  return [list.map((m) => [m.type, m.subtype]), list.at(-1).result, one.type, one.result];
});

same('texts of MCP tools and of agents are lists of blocks', async (w, exe) => {
  const calc = () => sdk.createSdkMcpServer({ name: 'calc', tools: [sdk.tool('one', 'says one', {}, async () => ({ content: [{ type: 'text', text: 'one' }] }))] });
  await w.model({
    turns: [turn(call('mcp__calc__one', {}, 'toolu_mcp'), call('Agent', { description: 'look', prompt: 'SUBWORK', subagent_type: 'general-purpose', run_in_background: false }, 'toolu_sub')), turn('Done.')],
    parts: [{ when: 'SUBWORK', turns: [turn('Sub says done.')] }],
  });
  const run = await w.ask('go', { mcpServers: { calc: calc() }, pathToClaudeCodeExecutable: exe });
  const of = (id) => run.toolResults.find((r) => r.tool_use_id === id).content;
  assert.ok(Array.isArray(of('toolu_mcp')) && Array.isArray(of('toolu_sub')));
  assert.match(JSON.stringify(of('toolu_sub')), /Sub says done\./);
  return [of('toolu_mcp').map((b) => [b.type, b.text]), of('toolu_sub').map((b) => b.type)];
});

same('an unknown session is named in the words that programs look for', async (w, exe) => {
  await w.model(turn('hello'));
  const id = '66666666-6666-4666-8666-666666666666';
  const [result] = await w.command(exe, [...stream, '--resume', id], w.line('hi'));
  const print = await w.run(exe, ['-p', 'hi', '--resume', id]);
  assert.notEqual(print.code, 0);
  return [result.subtype, result.errors[0], print.stderr].map((t) => t.match(/^error_during_execution$|No conversation found with session ID: [-\d]+/)?.[0]);
});

same('a turn of one answer that costs too much has spent its budget', async (w, exe) => {
  await w.model({ turns: [{ ...turn('hello'), usage: { input_tokens: 1000000, output_tokens: 200000 } }] });
  const lines = await w.command(exe, [...stream, '--max-budget-usd', '0.01'], w.line('hi'));
  const { subtype, is_error, terminal_reason, num_turns, total_cost_usd, errors } = lines.at(-1);
  return { subtype, is_error, terminal_reason, num_turns, total_cost_usd, errors: errors.map((e) => e.match(/^Reached maximum budget \(\$0\.01\)/)?.[0]) };
});

same('what Read found has the final newline that the file has', async (w, exe) => {
  w.file('ends', 'one\ntwo\n');
  w.file('open', 'one\ntwo');
  await w.model(turn(call('Read', { file_path: w.dir + '/ends' }), call('Read', { file_path: w.dir + '/open' }), call('Read', { file_path: w.dir + '/ends', limit: 1 })), turn('Done.'));
  const lines = await w.command(exe, stream, w.line('hi'));
  const found = lines.filter((l) => l.tool_use_result?.file).map((l) => [l.message.content[0].tool_use_id, l.tool_use_result.file.content]).sort();
  assert.equal(found[0][1], 'one\ntwo\n');
  return found;
});

same('models, their levels of effort, and the account are in the words of the SDK', async (w, exe) => {
  await w.model(turn('hello'));
  const q = w.query(feed(), { pathToClaudeCodeExecutable: exe });
  const [models, account] = [await q.supportedModels(), await q.accountInfo()];
  q.close();
  assert.equal(account.apiProvider, 'firstParty');
  return [models.map((m) => [m.value, m.resolvedModel, m.supportsEffort, m.supportedEffortLevels]), account];
});

for (const model of ['default', 'opus', 'fable', 'sonnet', 'haiku']) {
  same(`the model ${model} is the one that the list says`, async (w, exe) => {
    await w.model(turn('hello'));
    const run = await w.ask('hi', { model, pathToClaudeCodeExecutable: exe });
    return run.init.model;
  });
}

same('auth status says how it is authenticated', async (w, exe) => {
  const of = async (args) => {
    const { stdout, code } = await w.run(exe, ['auth', 'status', ...args]);
    const { loggedIn, authMethod, apiProvider, apiKeySource } = JSON.parse(stdout);
    return { loggedIn, authMethod, apiProvider, apiKeySource, code };
  };
  const text = await w.run(exe, ['auth', 'status', '--text']);
  const key = w.env.ANTHROPIC_API_KEY;
  const found = [await of([]), await of(['--json']), text.stdout.split('\n')[0]];
  delete w.env.ANTHROPIC_API_KEY;
  const { loggedIn, code } = await of([]);
  w.env.ANTHROPIC_API_KEY = key;
  return [...found, loggedIn, code];
});

same('a hint in brackets is shown in brackets', async (w, exe, who) => {
  await w.model(turn('hello'));
  for (const [name, hint] of [['a', '[issue]'], ['b', '[issue] [branch]'], ['c', 'plain'], ['d', '"[quoted]"']]) w.file(`.claude/commands/${name}.md`, `---\ndescription: x\nargument-hint: ${hint}\n---\nDo $ARGUMENTS\n`);
  const q = w.query(feed(), { settingSources: ['project'], pathToClaudeCodeExecutable: exe });
  const commands = await q.supportedCommands();
  q.close();
  const hint = (name) => commands.find((c) => c.name === name).argumentHint;
  if (who === 'haft') assert.equal(hint('a'), '[issue]'); // the official one takes it for a list, and drops the brackets
  return ['b', 'c', 'd'].map(hint);
});

same('messages during a turn are replayed as they were sent', async (w, exe) => {
  await w.model(turn(call('Bash', { command: 'sleep 1' })), turn('Done.'));
  const input = w.line('first', { uuid: uuid(1) }) + w.line('a string', { uuid: uuid(2) }) + w.line([{ type: 'text', text: 'blocks' }], { uuid: uuid(3) });
  const lines = await w.command(exe, [...stream, '--replay-user-messages'], input);
  return lines.filter((l) => l.isReplay).map((l) => [l.uuid, l.message.content]);
});

for (const [name, content] of Object.entries({
  'after its context': [{ type: 'text', text: 'the context' }, { type: 'text', text: '/fix 12' }],
  'after an image': [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } }, { type: 'text', text: '/fix 12' }],
  'by itself': [{ type: 'text', text: '/fix 12' }],
})) {
  same(`a command runs ${name}`, async (w, exe) => {
    w.file('.claude/commands/fix.md', '---\ndescription: fixes\n---\nFIXED $ARGUMENTS\n');
    await w.model(turn('hello'));
    const lines = await w.command(exe, [...stream, '--setting-sources', 'project'], w.line(content));
    assert.equal(lines.at(-1).subtype, 'success');
    const sent = JSON.stringify((await w.requests()).at(-1).messages);
    assert.match(sent, /FIXED 12/);
    return [/the context/.test(sent), /image\/png/.test(sent)];
  });
}

test('init is the first message, and warnings follow it', async (w) => {
  w.file('.claude/settings.json', JSON.stringify({ permissions: { allow: ['Bash(touch:*)'] } }));
  await w.model(turn('hello'));
  const run = await w.ask('hi');
  assert.equal(run.shape[0], 'system/init');
  assert.match(JSON.stringify(run.of('system', 'informational')), /not trusted/);
  assert.match(w.stderr, /not trusted/);
}, { only: 'haft' });
