// Turns: one-shot, streaming input, tools, partial messages, limits, prompts.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { call, collect, feed, say, text, test, think, turn, user, reference } from '../suite.mjs';

const one = { tools: ['Bash', 'Read', 'Write', 'Edit'] };

test('a one-shot query gives init, assistant and result in this order', async (w) => {
  await w.model(turn('Hello.'));
  const run = await w.ask('hi', one);
  assert.equal(run.error, undefined);
  assert.deepEqual(run.shape.filter((s) => !s.startsWith('rate_limit')), ['system/init', 'assistant/text', 'result/success']);
  const { init, result } = run;
  assert.equal(init.cwd, w.dir);
  assert.equal(init.permissionMode, 'bypassPermissions');
  assert.equal(init.apiKeySource, 'ANTHROPIC_API_KEY');
  assert.deepEqual([...init.tools].sort(), ['Bash', 'Edit', 'Read', 'Write']);
  for (const list of ['tools', 'mcp_servers', 'slash_commands', 'agents', 'skills', 'plugins']) assert.ok(Array.isArray(init[list]), list);
  for (const m of run.messages) {
    assert.equal(m.session_id, init.session_id);
    assert.match(m.uuid, /^[0-9a-f-]{36}$/);
  }
  assert.equal(new Set(run.messages.map((m) => m.uuid)).size, run.messages.length, 'uuids are unique');
  assert.equal(result.result, 'Hello.');
  assert.equal(result.is_error, false);
  assert.equal(result.num_turns, 1);
  assert.equal(result.stop_reason, 'end_turn');
  assert.equal(result.terminal_reason, 'completed');
  assert.deepEqual(result.permission_denials, []);
  assert.ok(result.duration_ms >= 0 && result.duration_api_ms >= 0);
  assert.ok(result.usage.input_tokens > 0 && result.usage.output_tokens > 0);
  assert.equal(typeof result.total_cost_usd, 'number');
  const [model] = Object.values(result.modelUsage);
  for (const f of ['inputTokens', 'outputTokens', 'cacheReadInputTokens', 'cacheCreationInputTokens', 'webSearchRequests', 'costUSD', 'contextWindow']) assert.equal(typeof model[f], 'number', f);
  const [said] = run.of('assistant');
  assert.equal(said.parent_tool_use_id, null);
  assert.equal(said.message.role, 'assistant');
  assert.equal(said.message.type, 'message');
  assert.equal(said.message.stop_reason, null);
  assert.ok(said.message.id && said.message.usage);
  assert.equal(w.children[0].exitCode, 0);
});

test('a tool call gives one assistant message per block and one user message per result', async (w) => {
  await w.model(turn('I look.', call('Bash', { command: 'echo one' })), turn('Done.'));
  const run = await w.ask('go', one);
  assert.deepEqual(run.shape, ['system/init', 'assistant/text', 'assistant/tool_use', 'user/tool_result', 'assistant/text', 'result/success']);
  const [a, b] = run.of('assistant');
  assert.equal(a.message.id, b.message.id);
  const [result] = run.of('user');
  assert.equal(text(result.message.content[0]), 'one');
  assert.equal(result.tool_use_result.stdout, 'one');
  assert.equal(result.tool_use_result.interrupted, false);
  assert.equal(result.message.content[0].tool_use_id, b.message.content[0].id);
  assert.equal(run.result.num_turns, 2);
});

test('files are written, read and edited with typed outputs', async (w) => {
  const file = path.join(w.dir, 'a/b.txt');
  await w.model(
    turn(call('Write', { file_path: file, content: 'one\ntwo\n' })),
    turn(call('Read', { file_path: file })),
    turn(call('Edit', { file_path: file, old_string: 'two', new_string: 'three' })),
    turn('Done.'),
  );
  const run = await w.ask('go', one);
  const [written, read, edited] = run.of('user').map((m) => m.tool_use_result);
  assert.equal(written.type, 'create');
  assert.equal(written.filePath, file);
  assert.equal(read.type, 'text');
  assert.equal(read.file.filePath, file);
  assert.match(read.file.content, /^one\ntwo/);
  assert.equal(edited.oldString, 'two');
  assert.equal(edited.newString, 'three');
  assert.equal(edited.structuredPatch.length, 1);
  assert.equal(fs.readFileSync(file, 'utf8'), 'one\nthree\n');
});

test('a failing command is an error result and the turn goes on', async (w) => {
  await w.model(turn(call('Bash', { command: 'echo bad; exit 3' })), turn('I see.'));
  const run = await w.ask('go', one);
  const [r] = run.of('user');
  assert.equal(r.message.content[0].is_error, true);
  assert.match(text(r.message.content[0]), /Exit code 3[\s\S]*bad/);
  assert.equal(typeof r.tool_use_result, 'string');
  assert.match(r.tool_use_result, /^Error: /);
  assert.equal(run.result.subtype, 'success');
  assert.equal(run.result.is_error, false);
});

test('unknown tools and invalid input are sent to the model', async (w) => {
  await w.model(turn(call('Nonsense', {})), turn(call('Read', { path: { odd: true } })), turn('Done.'));
  const run = await w.ask('go', one);
  const [unknown, invalid] = run.of('user');
  assert.match(text(unknown.message.content[0]), /No such tool available/);
  assert.equal(unknown.message.content[0].is_error, true);
  assert.match(text(invalid.message.content[0]), /InputValidationError/);
  assert.match(invalid.tool_use_result, /InputValidationError/);
  assert.equal(run.result.num_turns, 3);
});

test('parallel calls are each answered, and sent back in one message', async (w) => {
  const calls = [1, 2, 3, 4, 5].map((n) => call('Bash', { command: `echo n${n}` }, `toolu_${n}`));
  await w.model(turn(...calls), turn('Done.'));
  const run = await w.ask('go', one);
  assert.deepEqual(run.toolResults.map((r) => text(r)).sort(), ['n1', 'n2', 'n3', 'n4', 'n5']);
  assert.equal(run.result.num_turns, 6);
  const [, second] = await w.requests();
  const results = second.messages.flatMap((m) => (Array.isArray(m.content) ? m.content : [])).filter((b) => b.type === 'tool_result');
  assert.equal(results.length, 5);
});

test('one failing call does not cancel its siblings', async (w) => {
  await w.model(turn(call('Bash', { command: 'exit 1' }, 'toolu_a'), call('Bash', { command: 'sleep 0.3; echo still' }, 'toolu_b')), turn('Done.'));
  const run = await w.ask('go', one);
  const by = Object.fromEntries(run.toolResults.map((r) => [r.tool_use_id, r]));
  assert.equal(by.toolu_a.is_error, true);
  assert.equal(text(by.toolu_b), 'still');
});

test('streaming input takes turns in order in one session', async (w) => {
  await w.model(turn('First.'), turn('Second.'), turn('Third.'));
  const prompts = feed('one');
  let results = 0;
  const run = await collect(w.query(prompts, one), (m) => {
    if (m.type !== 'result') return;
    results++;
    if (results < 3) prompts.push('more');
    else prompts.end();
  });
  assert.equal(run.error, undefined);
  assert.deepEqual(run.results.map((r) => r.result), ['First.', 'Second.', 'Third.']);
  assert.equal(new Set(run.messages.map((m) => m.session_id)).size, 1);
  assert.equal(run.of('system', 'init').length, 3);
  const all = await w.requests();
  assert.equal(all.at(-1).messages.filter((m) => m.role === 'assistant').length, 2);
});

test('two messages and the end of input give two results', async (w) => {
  await w.model(turn('First.'), turn('Second.'));
  const prompts = feed('one', 'two');
  prompts.end();
  const run = await collect(w.query(prompts, one));
  assert.deepEqual(run.results.map((r) => r.result), ['First.', 'Second.']);
  assert.equal(w.children[0].exitCode, 0);
});

test('content may be a string, text blocks and images', async (w) => {
  await w.model(turn('Nice.'));
  const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  const prompts = feed(user([{ type: 'text', text: 'what is this?' }, { type: 'image', source: { type: 'base64', media_type: 'image/png', data: dot } }]));
  prompts.end();
  const run = await collect(w.query(prompts, one));
  assert.equal(run.result.result, 'Nice.');
  const [first] = await w.requests();
  assert.ok(JSON.stringify(first.messages).includes('"image"'));
});

test('a message that arrives while a tool runs joins the turn', async (w) => {
  await w.model(turn(call('Bash', { command: 'sleep 1; echo slow' })), turn('Both.'));
  const prompts = feed(user('one', { uuid: '11111111-1111-4111-8111-111111111111' }));
  const run = await collect(w.query(prompts, one), (m) => {
    if (m.type === 'assistant' && m.message.content[0].type === 'tool_use') {
      prompts.push(user('and also this', { uuid: '22222222-2222-4222-8222-222222222222' }));
      prompts.end();
    }
  });
  assert.equal(run.results.length, 1);
  assert.equal(run.result.result, 'Both.');
  assert.deepEqual(run.result.user_message_uuids, ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222']);
  const all = await w.requests();
  assert.ok(JSON.stringify(all.at(-1).messages).includes('and also this'));
});

test('priority now cuts the turn at the tool boundary', async (w) => {
  await w.model(turn(call('Bash', { command: 'sleep 1; echo slow' })), turn('Urgent.'));
  const prompts = feed('one');
  const run = await collect(w.query(prompts, one), (m) => {
    if (m.type === 'assistant' && m.message.content[0].type === 'tool_use') {
      prompts.push(user('stop that', { priority: 'now' }));
      prompts.end();
    }
  });
  assert.deepEqual(run.results.map((r) => [r.subtype, r.is_error, r.terminal_reason]), [['success', false, 'aborted_tools'], ['success', false, 'completed']]);
  assert.equal(run.result.result, 'Urgent.');
});

test('shouldQuery false is kept for the next prompt', async (w) => {
  await w.model(turn('Heard.'));
  const prompts = feed(user('remember the word mango', { shouldQuery: false }));
  const run = await collect(w.query(prompts, one), (m, run) => {
    if (m.type === 'result' && run.results.length === 1) { prompts.push('go'); prompts.end(); }
  });
  assert.equal(run.results[0].num_turns, 0);
  assert.equal(run.results[0].subtype, 'success');
  const all = await w.requests();
  assert.equal(all.length, 1);
  assert.ok(JSON.stringify(all[0].messages).includes('mango'));
  assert.equal(run.result.result, 'Heard.');
});

test('messages with a uuid have a life cycle', async (w) => {
  await w.model(turn('Hello.'));
  const uuid = '33333333-3333-4333-8333-333333333333';
  const prompts = feed(user('one', { uuid }));
  prompts.end();
  const run = await collect(w.query(prompts, one));
  assert.deepEqual(run.of('command_lifecycle').map((m) => [m.command_uuid, m.state]), [[uuid, 'queued'], [uuid, 'started'], [uuid, 'completed']]);
});

test('replay-user-messages repeats prompts with their uuid', async (w) => {
  await w.model(turn('Hello.'));
  const uuid = '44444444-4444-4444-8444-444444444444';
  const prompts = feed(user('one', { uuid }));
  prompts.end();
  const run = await collect(w.query(prompts, { ...one, extraArgs: { 'replay-user-messages': null } }));
  const [echo] = run.of('user');
  assert.equal(echo.uuid, uuid);
  assert.equal(echo.isReplay, true);
});

test('partial messages are the events of the API, and each block comes before its end', async (w) => {
  await w.model({ turns: [{ blocks: [think('Hm.'), say('Hello, this is a longer text.'), call('Bash', { command: 'echo 1' })], chunk: 5 }, turn('End.')] });
  const run = await w.ask('go', { ...one, includePartialMessages: true });
  const events = run.of('stream_event');
  assert.ok(events.every((m) => m.session_id && m.uuid && m.parent_tool_use_id === null));
  const kinds = events.map((m) => m.event.type);
  assert.equal(kinds.filter((k) => k === 'message_start').length, 2);
  assert.equal(kinds.filter((k) => k === 'message_stop').length, 2);
  assert.equal(kinds.filter((k) => k === 'message_delta').length, 2);
  const deltas = events.filter((m) => m.event.delta?.type === 'text_delta').map((m) => m.event.delta.text).join('');
  assert.equal(deltas, 'Hello, this is a longer text.End.');
  const json = events.filter((m) => m.event.delta?.type === 'input_json_delta').map((m) => m.event.delta.partial_json).join('');
  assert.deepEqual(JSON.parse(json), { command: 'echo 1' });
  assert.equal(events.filter((m) => m.event.delta?.type === 'thinking_delta').map((m) => m.event.delta.thinking).join(''), 'Hm.');
  for (const [i, m] of run.messages.entries()) {
    if (m.type === 'assistant') assert.equal(run.messages[i + 1].event?.type, 'content_block_stop');
  }
  assert.equal(typeof events[0].ttft_ms, 'number');
  assert.ok(run.of('system', 'status').some((m) => m.status === 'requesting'));
  const stop = events.find((m) => m.event.type === 'message_delta').event;
  assert.equal(stop.delta.stop_reason, 'tool_use');
  assert.equal(typeof stop.usage.output_tokens, 'number');
});

test('without partial messages there are no stream events', async (w) => {
  await w.model(turn('Hello.'));
  const run = await w.ask('go', one);
  assert.equal(run.of('stream_event').length, 0);
});

test('thinking is shown as a block of its own', async (w) => {
  await w.model(turn(think('Let me see.'), 'Hello.'));
  const run = await w.ask('go', one);
  assert.deepEqual(run.blocks('assistant', 'thinking').map((b) => b.thinking), ['Let me see.']);
});

test('maxTurns ends with its own subtype and exit code 1', async (w) => {
  await w.model(turn(call('Bash', { command: 'echo 1' })), turn(call('Bash', { command: 'echo 2' })), turn('never'));
  const run = await w.ask('go', { ...one, maxTurns: 2 });
  assert.equal(run.result.subtype, 'error_max_turns');
  assert.equal(run.result.is_error, true);
  assert.equal(run.result.num_turns, 3);
  assert.equal(run.result.terminal_reason, 'max_turns');
  assert.match(run.result.errors[0], /maximum number of turns \(2\)/i);
  assert.equal('result' in run.result, false);
  assert.match(String(run.error), /maximum number of turns/i);
  assert.equal(w.children[0].exitCode, 1);
  assert.equal((await w.requests()).length, 2);
});

test('maxBudgetUsd ends with its own subtype', async (w) => {
  await w.model({ turns: [{ ...turn(call('Bash', { command: 'echo 1' })), usage: { input_tokens: 10000000, output_tokens: 1000000 } }, turn('never')] });
  const run = await w.ask('go', { ...one, maxBudgetUsd: 0.01 });
  assert.equal(run.result.subtype, 'error_max_budget_usd');
  assert.equal(run.result.is_error, true);
  assert.ok(run.result.total_cost_usd > 0.01);
  assert.ok(run.error);
}, { only: 'haft' });

test('structured output is validated and returned', async (w) => {
  const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'], additionalProperties: false };
  await w.model(turn(call('StructuredOutput', { n: 'x' })), turn(call('StructuredOutput', { n: 42 })), turn('never'));
  const run = await w.ask('go', { ...one, outputFormat: { type: 'json_schema', schema } });
  assert.equal(run.toolResults[0].is_error, true);
  assert.deepEqual(run.result.structured_output, { n: 42 });
  assert.deepEqual(JSON.parse(run.result.result), { n: 42 });
  assert.equal(run.result.subtype, 'success');
  assert.equal((await w.requests()).length, 2);
});

test('an answer without the structured output is asked for once, then taken as it is', async (w) => {
  const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
  await w.model(turn('No.'), turn('Still no.'));
  const run = await w.ask('go', { ...one, outputFormat: { type: 'json_schema', schema } });
  assert.equal(run.result.subtype, 'success');
  assert.equal(run.result.structured_output, undefined);
  assert.equal(run.of('user').filter((m) => m.isSynthetic).length, 1);
});

const system = (r) => (Array.isArray(r.system) ? r.system.map((b) => b.text).join('\n') : (r.system ?? ''));

test('a string replaces the system prompt', async (w) => {
  await w.model(turn('Arr.'));
  await w.ask('go', { ...one, systemPrompt: 'You are a pirate.' });
  const [r] = await w.requests();
  assert.match(system(r), /You are a pirate\./);
  assert.ok(system(r).length < 2000);
});

test('the preset is a prompt of its own, and append comes after it', async (w) => {
  await w.model(turn('Yes.'));
  await w.ask('go', { ...one, systemPrompt: { type: 'preset', preset: 'claude_code', append: 'Always say mango.' } });
  const [r] = await w.requests();
  assert.ok(system(r).length > 1000);
  assert.match(system(r), /Always say mango\.\s*$/);
});

test('no system prompt means an empty one', async (w) => {
  await w.model(turn('Yes.'));
  await w.ask('go', one);
  const [r] = await w.requests();
  assert.ok(system(r).length < (reference ? 1000 : 200), system(r));
});

test('tools and disallowedTools bound what the model is given', async (w) => {
  await w.model(turn('Yes.'));
  const run = await w.ask('go', { tools: ['Bash', 'Read'], disallowedTools: ['Read'] });
  assert.deepEqual(run.init.tools, ['Bash']);
  const [r] = await w.requests();
  assert.ok(r.tools.every((t) => t.name !== 'Read'));
});

test('an empty list of tools means none', async (w) => {
  await w.model({ turns: [turn('Yes.')], side: turn('Yes.') });
  const run = await w.ask('go', { tools: [] });
  assert.deepEqual(run.init.tools, []);
  assert.equal(run.result.result, 'Yes.');
});

test('the preset of tools has the usual ones, under the names that programs know', async (w) => {
  await w.model(turn('Yes.'));
  const run = await w.ask('go', { tools: { type: 'preset', preset: 'claude_code' } });
  for (const name of ['Task', 'Bash', 'Read', 'Write', 'Edit', 'NotebookEdit', 'WebFetch', 'Skill']) assert.ok(run.init.tools.includes(name), name);
});

test('usage is of the turn, cost and model usage are of the process', async (w) => {
  const usage = { input_tokens: 100, output_tokens: 10 };
  await w.model({ turns: [{ ...turn('One.'), usage }, { ...turn('Two.'), usage }] });
  const prompts = feed('one');
  const run = await collect(w.query(prompts, one), (m, run) => {
    if (m.type === 'result') run.results.length === 1 ? prompts.push('two') : prompts.end();
  });
  const [a, b] = run.results;
  assert.equal(a.usage.output_tokens, 10);
  assert.equal(b.usage.output_tokens, 10);
  const total = (r) => Object.values(r.modelUsage).reduce((n, u) => n + u.outputTokens, 0);
  assert.equal(total(a), 10);
  assert.equal(total(b), 20);
  assert.ok(b.total_cost_usd >= a.total_cost_usd);
  assert.deepEqual([a.result_index, b.result_index], [0, 1]);
});
