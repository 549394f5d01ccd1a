// What the cases are written with. A case gets a world of its own: a project
// folder, a home, a scripted model, and the official SDK pointed at the
// executable under test. Every line that the executable writes is recorded.
//
//   node run.mjs cases/<file>.mjs
//
// prints one JSON object per case. INTEROP_EXECUTABLE, INTEROP_CONTROL (where
// scripted models are ordered) and INTEROP_RECORD (where lines are kept) say the
// rest; INTEROP_REFERENCE is set when the executable is the official one.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import * as sdk from '@anthropic-ai/claude-agent-sdk';

export { sdk };
export const reference = Boolean(process.env.INTEROP_REFERENCE);
/** programs are both executables, for cases that compare them. */
export const programs = { haft: process.env.INTEROP_EXECUTABLE, reference: process.env.INTEROP_BESIDE };
const limit = Number(process.env.INTEROP_TIMEOUT || 60) * 1000;
const registry = [];

/** test registers a case. Options: only 'haft' or 'reference' says where it holds. */
export function test(name, run, options = {}) {
  registry.push({ name, run, options });
}

// Answers of the scripted model.
export const say = (text) => ({ text });
export const think = (thinking) => ({ thinking });
export const call = (tool, input, id) => ({ tool, input, ...(id && { id }) });
export const turn = (...blocks) => ({ blocks: blocks.map((b) => (typeof b === 'string' ? say(b) : b)) });
export const fault = (status, more = {}) => ({ ...turn('the answer after all'), status, times: -1, ...more });

export class World {
  constructor(name) {
    this.name = name;
    this.root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'interop-')));
    this.dir = path.join(this.root, 'project');
    this.home = path.join(this.root, 'home');
    fs.mkdirSync(this.dir);
    fs.mkdirSync(this.home);
    this.env = {
      PATH: process.env.PATH, HOME: this.home, TMPDIR: this.root, LANG: 'C.UTF-8', IS_SANDBOX: '1',
      ANTHROPIC_API_KEY: 'sk-ant-scripted', CLAUDE_CODE_MAX_RETRIES: '2', DISABLE_TELEMETRY: '1', DISABLE_AUTOUPDATER: '1',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', XDG_CACHE_HOME: path.join(this.root, 'cache'),
    };
    this.children = [];
    this.stderr = '';
  }

  /** model serves a scenario to everything that is started from now on. */
  async model(...turns) {
    const scenario = turns.length === 1 && turns[0].turns ? turns[0] : { turns };
    scenario.side ??= turn('done');
    const got = await fetch(process.env.INTEROP_CONTROL + '/models', { method: 'POST', body: JSON.stringify(scenario) });
    if (!got.ok) throw new Error('order a model: ' + (await got.text()));
    this.served = await got.json();
    this.env.ANTHROPIC_BASE_URL = this.served.url;
  }

  /** requests are the bodies that the model was sent, those about the conversation only. */
  async requests() {
    const got = await fetch(`${process.env.INTEROP_CONTROL}/models/${this.served.id}`);
    return (await got.json()).filter((r) => r.tools?.length || !reference);
  }

  file(name, text) {
    const full = path.join(this.dir, name);
    fs.mkdirSync(path.dirname(full), { recursive: true });
    fs.writeFileSync(full, text);
    return full;
  }

  read(name) {
    return fs.readFileSync(path.join(this.dir, name), 'utf8');
  }

  exists(name) {
    return fs.existsSync(path.join(this.dir, name));
  }

  options(extra = {}) {
    return {
      cwd: this.dir, env: this.env, pathToClaudeCodeExecutable: process.env.INTEROP_EXECUTABLE,
      permissionMode: 'bypassPermissions', allowDangerouslySkipPermissions: true, model: 'sonnet',
      stderr: (text) => { this.stderr += text; },
      spawnClaudeCodeProcess: (how) => this.spawn(how),
      ...extra,
    };
  }

  spawn({ command, args, cwd, env, signal }) {
    const child = spawn(command, args, { cwd, env, signal, stdio: ['pipe', 'pipe', 'pipe'] });
    child.on('error', () => {});
    this.children.push(child);
    if (process.env.INTEROP_RECORD) {
      const file = path.join(process.env.INTEROP_RECORD, `${this.name.replace(/[^a-z0-9]+/gi, '-')}-${this.children.length}.jsonl`);
      const lines = fs.createWriteStream(file);
      child.stdout.on('data', (chunk) => lines.write(chunk));
      child.stdout.on('end', () => lines.end());
    }
    child.stderr.on('data', (chunk) => { this.stderr += chunk; });
    return child;
  }

  query(prompt, extra) {
    return sdk.query({ prompt, options: this.options(extra) });
  }

  /** line is a prompt as a program writes it. */
  line(content, more = {}) {
    return JSON.stringify(user(content, more)) + '\n';
  }

  /** command runs an executable with flags and what it reads, and returns its lines. */
  async command(exe, flags, input = '') {
    const print = flags.some((f) => f === '-p');
    const how = ['--dangerously-skip-permissions', '--model', 'sonnet', ...(print ? [] : ['--output-format', 'stream-json', '--verbose']), ...flags];
    const out = await this.run(exe, how, input);
    return out.stdout.trim().split('\n').filter(Boolean).map((l) => JSON.parse(l));
  }

  /** run runs an executable to its end. */
  run(exe, args, input = '') {
    return new Promise((done) => {
      const child = spawn(exe, args, { cwd: this.dir, env: this.env, stdio: ['pipe', 'pipe', 'pipe'] });
      this.children.push(child);
      const out = { stdout: '', stderr: '' };
      child.stdout.on('data', (chunk) => { out.stdout += chunk; });
      child.stderr.on('data', (chunk) => { out.stderr += chunk; this.stderr += chunk; });
      child.stdin.on('error', () => {});
      child.on('close', (code) => done({ ...out, code }));
      child.stdin.end(input);
    });
  }

  /** ask runs a query to its end. An error of the SDK does not throw. */
  async ask(prompt, extra) {
    return collect(this.query(prompt, extra));
  }

  async cleanup() {
    for (const child of this.children) {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    }
    if (this.served) await fetch(`${process.env.INTEROP_CONTROL}/models/${this.served.id}`, { method: 'DELETE' });
    fs.rmSync(this.root, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** collect reads messages to the end; on may act on each. */
export async function collect(q, on) {
  const run = new Run();
  try {
    for await (const m of q) {
      run.messages.push(m);
      if (on && (await on(m, run)) === 'stop') break;
    }
  } catch (error) {
    run.error = error;
  }
  return run;
}

/** Run is what a query brought. */
export class Run {
  messages = [];
  error = undefined;

  of(type, subtype) {
    return this.messages.filter((m) => m.type === type && (!subtype || m.subtype === subtype));
  }

  get results() {
    return this.of('result');
  }

  get result() {
    return this.results.at(-1);
  }

  get init() {
    return this.of('system', 'init')[0];
  }

  get text() {
    return this.blocks('assistant', 'text').map((b) => b.text);
  }

  blocks(type, kind) {
    return this.of(type).flatMap((m) => (Array.isArray(m.message.content) ? m.message.content : [])).filter((b) => b.type === kind);
  }

  get toolResults() {
    return this.blocks('user', 'tool_result');
  }

  /** shape is the sequence of messages, without those that depend on time. */
  get shape() {
    return this.messages.map((m) => [m.type, m.subtype ?? m.message?.content?.[0]?.type].filter(Boolean).join('/'));
  }
}

/** both does the same with both executables, and returns what came of it. */
export async function both(w, act) {
  const got = {};
  for (const who of ['reference', 'haft']) got[who] = await act(programs[who], who);
  return got;
}

/** feed is a prompt that goes on: push more, end it. */
export function feed(...first) {
  const queue = [...first];
  let wake = () => {};
  let ended = false;
  return {
    push: (...more) => { queue.push(...more); wake(); },
    end: () => { ended = true; wake(); },
    async *[Symbol.asyncIterator]() {
      for (;;) {
        while (queue.length) {
          const m = queue.shift();
          yield typeof m === 'string' ? user(m) : m;
        }
        if (ended) return;
        await new Promise((done) => { wake = done; });
      }
    },
  };
}

export const user = (content, more = {}) => ({ type: 'user', message: { role: 'user', content }, parent_tool_use_id: null, session_id: '', ...more });
export const text = (result) => (typeof result.content === 'string' ? result.content : result.content.map((b) => b.text ?? '').join(''));
export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

/** until waits for a condition. */
export async function until(what, condition, ms = 20000) {
  const deadline = Date.now() + ms;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error('it did not come to this: ' + what);
    await sleep(20);
  }
}

export function alive(pid) {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

async function runCase({ name, run }) {
  const world = new World(name);
  const began = Date.now();
  const outcome = { name };
  let timer;
  try {
    await Promise.race([
      run(world),
      new Promise((_, fail) => { timer = setTimeout(() => fail(new Error(`it took longer than ${limit / 1000} s`)), limit); }),
    ]);
    outcome.ok = true;
  } catch (error) {
    outcome.ok = false;
    outcome.error = String(error.stack ?? error) + (world.stderr ? '\nstandard error: ' + world.stderr.slice(-4000) : '');
  }
  clearTimeout(timer);
  await world.cleanup().catch(() => {});
  outcome.ms = Date.now() - began;
  process.stdout.write(JSON.stringify(outcome) + '\n');
}

/** main runs the cases of files. */
export async function main(files) {
  for (const file of files) await import(pathToFileURL(path.resolve(file)));
  const only = process.env.INTEROP_ONLY && new RegExp(process.env.INTEROP_ONLY);
  const skip = reference ? 'haft' : 'reference';
  const waiting = registry.filter((c) => c.options.only !== skip && (!only || only.test(c.name)));
  const workers = Array.from({ length: Number(process.env.INTEROP_PARALLEL || 4) }, async () => {
    for (let c; (c = waiting.shift());) await runCase(c);
  });
  await Promise.all(workers);
  process.exit(0);
}
