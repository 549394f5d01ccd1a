// MCP servers: inside the program, as processes, set and changed at run time.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { call, collect, feed, reference, sdk, text, test, turn, until } from '../suite.mjs';

const tools = ['Bash', 'Read'];

function calc(seen = [], slow = () => {}) {
  return sdk.createSdkMcpServer({
    name: 'calc', version: '1.2.3',
    tools: [
      sdk.tool('add', 'Adds two numbers', { a: z.number(), b: z.number() }, async ({ a, b }) => { seen.push([a, b]); return { content: [{ type: 'text', text: String(a + b) }] }; }),
      sdk.tool('fail', 'Fails', {}, async () => { throw new Error('out of order'); }),
      sdk.tool('refuse', 'Refuses', {}, async () => ({ isError: true, content: [{ type: 'text', text: 'not today' }] })),
      sdk.tool('slow', 'Takes its time', {}, async () => { slow(); await new Promise((d) => setTimeout(d, 10000)); return { content: [] }; }),
    ],
  });
}

/** a server as a process, in the few lines that the protocol takes */
function stdio(w, more = '') {
  const file = path.join(w.root, 'server.mjs');
  fs.writeFileSync(file, `
import readline from 'node:readline';
const send = (m) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...m }) + '\\n');
readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  if (method === 'initialize') send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {}, resources: {} }, serverInfo: { name: 'echo', version: '1' } } });
  else if (method === 'tools/list') send({ id, result: { tools: [{ name: 'echo', description: 'Echoes', inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }, annotations: { readOnlyHint: true } }] } });
  else if (method === 'tools/call') send({ id, result: { content: [{ type: 'text', text: 'echo: ' + params.arguments.text + (process.env.MARK ?? '') }] } });
  else if (method === 'resources/list') send({ id, result: { resources: [{ uri: 'note://one', name: 'one' }] } });
  else if (method === 'resources/read') send({ id, result: { contents: [{ uri: params.uri, text: 'a note' }] } });
  else send({ id, error: { code: -32601, message: 'no such method' } });
});
${more}`);
  return { type: 'stdio', command: process.execPath, args: [file], env: { MARK: '!' } };
}

test('a tool inside the program is offered and called', async (w) => {
  const seen = [];
  await w.model(turn(call('mcp__calc__add', { a: 2, b: 40 }, 'toolu_add')), turn('It is 42.'));
  const run = await w.ask('go', { tools, mcpServers: { calc: calc(seen) } });
  assert.equal(run.error, undefined);
  assert.deepEqual(seen, [[2, 40]]);
  assert.equal(text(run.toolResults[0]), '42');
  assert.ok(run.init.tools.includes('mcp__calc__add'));
  const [server] = run.init.mcp_servers;
  assert.equal(server.name, 'calc');
  assert.equal(server.status, 'connected');
  assert.equal(server.source, 'sdk');
  const [first] = await w.requests();
  if (!reference) assert.ok(first.tools.some((t) => t.name === 'mcp__calc__add' && t.input_schema.properties.a));
});

test('a tool that throws or refuses is an error result', async (w) => {
  await w.model(turn(call('mcp__calc__fail', {})), turn(call('mcp__calc__refuse', {})), turn('Sorry.'));
  const run = await w.ask('go', { tools, mcpServers: { calc: calc() } });
  assert.ok(run.toolResults.every((r) => r.is_error === true));
  assert.match(text(run.toolResults[0]), /out of order/);
  assert.match(text(run.toolResults[1]), /not today/);
  assert.equal(run.result.result, 'Sorry.');
});

test('invalid input does not reach the tool', async (w) => {
  const seen = [];
  await w.model(turn(call('mcp__calc__add', { a: 'two' })), turn('Sorry.'));
  const run = await w.ask('go', { tools, mcpServers: { calc: calc(seen) } });
  assert.equal(run.toolResults[0].is_error, true);
  assert.deepEqual(seen, []);
});

test('a tool inside the program is asked about, and rules for its server count', async (w) => {
  const ask = { permissionMode: 'default', allowDangerouslySkipPermissions: false, tools, mcpServers: { calc: calc() } };
  await w.model(turn(call('mcp__calc__add', { a: 1, b: 1 })), turn('Done.'));
  const asked = [];
  await w.ask('go', { ...ask, canUseTool: async (name, input) => { asked.push(name); return { behavior: 'allow', updatedInput: { a: 20, b: 22 } }; } });
  assert.deepEqual(asked, ['mcp__calc__add']);
  const run = await w.ask('go', { ...ask, mcpServers: { calc: calc() }, allowedTools: ['mcp__calc'], canUseTool: async (name) => { asked.push(name); return { behavior: 'deny', message: 'no' }; } });
  assert.deepEqual(asked, ['mcp__calc__add']);
  assert.equal(text(run.toolResults[0]), '2');
  const exact = await w.ask('go', { ...ask, mcpServers: { calc: calc() }, allowedTools: ['mcp__calc__add'] });
  assert.equal(text(exact.toolResults[0]), '2');
});

test('a server as a process is started, and its tools are called', async (w) => {
  await w.model(turn(call('mcp__echo__echo', { text: 'hi' })), turn('Done.'));
  const run = await w.ask('go', { tools, mcpServers: { echo: stdio(w) } });
  assert.equal(text(run.toolResults[0]), 'echo: hi!');
  assert.equal(run.result.result, 'Done.');
});

test('a server that cannot be started is told of, and the session goes on', async (w) => {
  await w.model(turn('Done.'), turn('Again.'));
  const prompts = feed('go');
  const q = w.query(prompts, { tools, mcpServers: { broken: { type: 'stdio', command: '/nonexistent/server' } } });
  let status;
  const run = await collect(q, async (m) => {
    if (m.type !== 'result') return;
    await until('it failed', async () => { status = await q.mcpServerStatus(); return status[0]?.status === 'failed'; });
    prompts.end();
  });
  assert.equal(run.result.result, 'Done.');
  assert.equal(status[0].name, 'broken');
});

test('mcpServerStatus tells names, versions and tools', async (w) => {
  await w.model(turn('Done.'));
  const prompts = feed('go');
  const q = w.query(prompts, { tools, mcpServers: { calc: calc(), echo: stdio(w) } });
  let status;
  await collect(q, async (m) => {
    if (m.type !== 'result') return;
    await until('both are connected', async () => { status = await q.mcpServerStatus(); return status.every((s) => s.status === 'connected'); });
    prompts.end();
  });
  const by = Object.fromEntries(status.map((s) => [s.name, s]));
  assert.equal(by.calc.serverInfo.version, '1.2.3');
  assert.deepEqual(by.calc.tools.map((t) => t.name).sort(), ['add', 'fail', 'refuse', 'slow']);
  assert.equal(by.echo.serverInfo.name, 'echo');
  assert.equal(by.echo.tools[0].name, 'echo');
});

test('servers can be set while the session runs', async (w) => {
  await w.model(turn('First.'), turn(call('mcp__calc__add', { a: 1, b: 2 })), turn('Third.'));
  const prompts = feed('go');
  const q = w.query(prompts, { tools });
  let change;
  const run = await collect(q, async (m, run) => {
    if (m.type !== 'result') return;
    if (run.results.length === 1) { change = await q.setMcpServers({ calc: calc() }); prompts.push('now'); } else prompts.end();
  });
  assert.deepEqual(change.added, ['calc']);
  assert.deepEqual(change.errors, {});
  assert.equal(text(run.toolResults[0]), '3');
  assert.ok(run.of('system', 'init')[1].tools.includes('mcp__calc__add'));
});

test('servers that are set anew replace those before', async (w) => {
  await w.model(turn('First.'), turn('Second.'));
  const prompts = feed('go');
  const q = w.query(prompts, { tools });
  let gone;
  const run = await collect(q, async (m, run) => {
    if (m.type !== 'result') return;
    if (run.results.length === 1) {
      await q.setMcpServers({ calc: calc() });
      gone = await q.setMcpServers({});
      prompts.push('now');
    } else prompts.end();
  });
  assert.deepEqual(gone.removed, ['calc']);
  assert.ok(!run.of('system', 'init')[1].tools.includes('mcp__calc__add'));
});

test('servers can be switched off and on and connected again', async (w) => {
  await w.model(turn('First.'));
  const prompts = feed('go');
  const q = w.query(prompts, { tools, mcpServers: { echo: stdio(w) } });
  const state = async () => (await q.mcpServerStatus()).find((s) => s.name === 'echo').status;
  await collect(q, async (m) => {
    if (m.type !== 'result') return;
    await until('it is connected', async () => (await state()) === 'connected');
    await q.toggleMcpServer('echo', false);
    assert.equal(await state(), 'disabled');
    await q.toggleMcpServer('echo', true);
    await until('it is connected again', async () => (await state()) === 'connected');
    await q.reconnectMcpServer('echo');
    await until('it is connected anew', async () => (await state()) === 'connected');
    await assert.rejects(q.reconnectMcpServer('nobody'), /Server not found: nobody/);
    const resource = await q.readMcpResource('echo', 'note://one');
    assert.equal(resource.contents[0].text, 'a note');
    prompts.end();
  });
});

test('an interrupt reaches a tool inside the program', async (w) => {
  await w.model(turn(call('mcp__calc__slow', {})), turn('After.'));
  const prompts = feed('go');
  const q = w.query(prompts, { tools, mcpServers: { calc: calc([], () => q.interrupt()) } });
  const run = await collect(q, (m) => {
    if (m.type === 'result') prompts.end();
  });
  assert.equal(run.result.subtype, 'error_during_execution');
  assert.equal(run.toolResults[0].is_error, true);
});

test('strictMcpConfig leaves the servers of files out', async (w) => {
  fs.writeFileSync(path.join(w.dir, '.mcp.json'), JSON.stringify({ mcpServers: { other: stdio(w) } }));
  await w.model(turn('Done.'));
  const run = await w.ask('go', { tools, strictMcpConfig: true, mcpServers: { calc: calc() } });
  assert.deepEqual(run.init.mcp_servers.map((s) => s.name), ['calc']);
});

test('hooks see MCP tools by their names', async (w) => {
  await w.model(turn(call('mcp__calc__add', { a: 1, b: 2 })), turn('Done.'));
  const seen = [];
  await w.ask('go', { tools, mcpServers: { calc: calc() }, hooks: { PreToolUse: [{ matcher: 'mcp__calc__.*', hooks: [async (i) => { seen.push(i.tool_name); return {}; }] }] } });
  assert.deepEqual(seen, ['mcp__calc__add']);
});

test('a tool that is added to a server inside the program is offered from the next turn on', async (w) => {
  await w.model(turn('First.'), turn(call('mcp__calc__later', {})), turn('Third.'));
  const prompts = feed('go');
  const server = calc();
  const q = w.query(prompts, { tools, mcpServers: { calc: server } });
  const run = await collect(q, async (m, run) => {
    if (m.type !== 'result') return;
    if (run.results.length > 1) return prompts.end();
    server.instance.registerTool('later', { description: 'Came later', inputSchema: {} }, async () => ({ content: [{ type: 'text', text: 'here I am' }] }));
    await until('it is known', async () => (await q.mcpServerStatus())[0].tools.some((t) => t.name === 'later'));
    prompts.push('now');
  });
  assert.equal(text(run.toolResults[0]), 'here I am');
});
