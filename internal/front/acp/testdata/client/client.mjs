// An editor made of the official client library, whose validation refuses what is not of the
// protocol. It starts the agent that ACP_AGENT names (a JSON array), leads one session and
// prints all that it was told as one JSON object.
import { spawn } from 'node:child_process';
import { Readable, Writable } from 'node:stream';
import * as acp from '@agentclientprotocol/sdk';

const [command, ...args] = JSON.parse(process.env.ACP_AGENT);
const cwd = process.env.ACP_CWD;
const child = spawn(command, args, { cwd, stdio: ['pipe', 'pipe', 'inherit'] });
const seen = { updates: [], permissions: [], reads: [], problems: [] };

const choose = (options, kind) => options.find((o) => o.kind === kind)?.optionId;

const app = acp
  .client({ name: 'haft-test' })
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    seen.permissions.push(params);
    const kind = params.toolCall.toolCallId.includes('deny') ? 'reject_once' : 'allow_once';
    return { outcome: { outcome: 'selected', optionId: choose(params.options, kind) } };
  })
  .onRequest(acp.methods.client.fs.readTextFile, ({ params }) => {
    seen.reads.push(params);
    throw acp.RequestError.resourceNotFound(params.path);
  })
  .onNotification(acp.methods.client.session.update, ({ params }) => {
    seen.updates.push(params);
  });

const clock = () => Number(process.hrtime.bigint() / 1000n) / 1000;
try {
  await app.connectWith(acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)), async (agent) => {
    const took = {};
    const timed = async (name, method, params) => {
      const began = clock();
      const result = await agent.request(method, params);
      took[name] = clock() - began;
      return result;
    };
    const m = acp.methods.agent;
    seen.initialize = await timed('initialize', m.initialize, {
      protocolVersion: acp.PROTOCOL_VERSION,
      clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true },
    });
    seen.session = await timed('new', m.session.new, { cwd, mcpServers: [] });
    const sessionId = seen.session.sessionId;
    seen.prompts = [];
    for (const text of JSON.parse(process.env.ACP_PROMPTS)) {
      seen.prompts.push(await timed('prompt', m.session.prompt, { sessionId, prompt: [{ type: 'text', text }] }));
    }
    if (process.env.ACP_EXTRAS) {
      seen.mode = await agent.request(m.session.setMode, { sessionId, modeId: 'plan' });
      seen.options = await agent.request(m.session.setConfigOption, { sessionId, configId: 'mode', value: 'default' });
      seen.closed = await agent.request(m.session.close, { sessionId });
      seen.list = await agent.request(m.session.list, { cwd });
      const before = seen.updates.length;
      seen.loaded = await agent.request(m.session.load, { sessionId, cwd, mcpServers: [] });
      seen.replayed = seen.updates.slice(before);
      seen.resumed = await agent.request(m.session.resume, { sessionId, cwd, mcpServers: [] });
      seen.deleted = await agent.request(m.session.delete, { sessionId });
      await agent.request('session/flyby', {}).catch((e) => (seen.unknown = e.code));
    }
    seen.took = took;
  });
} catch (e) {
  seen.problems.push(String(e?.stack ?? e));
}
child.stdin.end();
const patience = setTimeout(() => child.kill('SIGKILL'), 10000);
seen.exit = await new Promise((done) => (child.exitCode === null ? child.once('exit', (code, signal) => done(code ?? signal)) : done(child.exitCode)));
clearTimeout(patience);
process.stdout.write(JSON.stringify(seen));
