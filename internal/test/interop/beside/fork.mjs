// Skills and commands that an agent of its own does, and hooks of agents and commands.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { both, call, test, turn } from '../suite.mjs';

const flags = ['--input-format', 'stream-json', '--setting-sources', 'user,project'];
const fields = 'description: Forks\ncontext: fork\nagent: helper\nmodel: haiku\n';

/** prepare writes a skill, a command and an agent, and a model that answers both conversations. */
async function prepare(w, ...main) {
  w.file('.claude/skills/forky/SKILL.md', `---\nname: forky\n${fields}---\nFORKTEXT for $ARGUMENTS\n`);
  w.file('.claude/commands/forkc.md', `---\n${fields}---\nFORKTEXT for $ARGUMENTS\n`);
  w.file('.claude/agents/helper.md', '---\nname: helper\ndescription: Helps\ntools: Bash, Read\nmodel: opus\n---\nHELPERPROMPT\n');
  const fork = [turn(call('Bash', { command: 'echo in-fork' }, 'toolu_inner')), turn('Fork report.')];
  await w.model({ turns: [...main, turn('Main answer.'), turn('Main answer.')], parts: [{ when: 'FORKTEXT', turns: fork }] });
}

/** seen is what a program sees of a fork. */
async function seen(w, lines) {
  const asked = (await w.requests()).filter((r) => r.tools?.length);
  const inner = lines.filter((l) => l.type === 'assistant' && l.message.content.some((b) => b.id === 'toolu_inner'))[0];
  const started = lines.find((l) => l.subtype === 'task_started');
  return {
    parent: inner.parent_tool_use_id, kind: started.subagent_type, description: started.description, text: started.prompt.includes('FORKTEXT for mice'),
    models: asked.map((r) => r.model.replace(/-\d.*/, '')), fork: asked.map((r) => JSON.stringify(r.system).includes('HELPERPROMPT')),
    results: lines.filter((l) => l.type === 'result').map((l) => [l.subtype, l.is_error, l.result]),
  };
}

test('a skill with context: fork is done by an agent, whose report is the result of the call', async (w) => {
  const got = await both(w, async (exe) => {
    await prepare(w, turn(call('Skill', { skill: 'forky', args: 'mice' }, 'toolu_skill')));
    const lines = await w.command(exe, flags, w.line('go'));
    const result = lines.find((l) => l.type === 'user' && l.message.content[0]?.tool_use_id === 'toolu_skill');
    assert.match(JSON.stringify(result.message.content[0].content), /Fork report\./);
    const { status, result: report, commandName } = result.tool_use_result;
    return { ...(await seen(w, lines)), status, report, commandName };
  });
  assert.deepEqual(got.haft, got.reference);
});

for (const name of ['forky', 'forkc']) {
  test(`/${name} with context: fork answers with the report of its agent`, async (w) => {
    const got = await both(w, async (exe) => {
      await prepare(w);
      const run = await w.command(exe, flags, w.line(`/${name} mice`) + w.line('and then?'));
      const last = (await w.requests()).filter((r) => r.tools?.length).at(-1);
      const known = [`/${name} mice`, 'Fork report.', 'FORKTEXT'].map((text) => JSON.stringify(last.messages).includes(text));
      return { ...(await seen(w, run)), known };
    });
    assert.deepEqual(got.haft, got.reference);
    assert.deepEqual(got.haft.known, [true, true, false]);
  });
}

/** hooks note the events that they are called for. */
const hooks = (log) => {
  const one = `      hooks:\n        - {type: command, command: 'cat >>${log}; echo >>${log}'}\n`;
  return `hooks:\n  PreToolUse:\n    - matcher: Bash\n${one}  Stop:\n    - matcher: ''\n${one}`;
};

/** noted is what hooks were called for, and clears it. */
function noted(log) {
  const lines = fs.readFileSync(log, 'utf8').trim().split('\n').filter(Boolean).map((l) => JSON.parse(l));
  fs.rmSync(log);
  return lines.map((l) => [l.hook_event_name, l.agent_id ? l.agent_type : '', l.tool_input?.command ?? '']);
}

test('hooks of an agent run for its calls and at its end, those of a command from then on', async (w) => {
  const log = path.join(w.dir, 'log');
  const agents = path.join(w.home, '.claude/agents');
  fs.mkdirSync(agents, { recursive: true });
  fs.writeFileSync(path.join(agents, 'guard.md'), `---\nname: guard\ndescription: Guards\n${hooks(log)}---\nGUARDPROMPT\n`);
  w.file('.claude/commands/watch.md', `---\ndescription: Watches\n${hooks(log)}---\nWATCHTEXT\n`);
  const got = await both(w, async (exe) => {
    const work = call('Agent', { description: 'x', prompt: 'SUBWORK', subagent_type: 'guard', run_in_background: false });
    const model = () => w.model({
      turns: [turn(call('Bash', { command: 'echo one' })), turn(work), turn(call('Bash', { command: 'echo two' })), turn('Done.')],
      parts: [{ when: 'SUBWORK', turns: [turn(call('Bash', { command: 'echo sub' })), turn('Sub done.')] }],
    });
    await model();
    await w.command(exe, flags, w.line('go'));
    const agent = noted(log);
    await model();
    await w.command(exe, [...flags, '--agent', 'guard'], w.line('go'));
    const lead = noted(log).filter(([, type]) => !type);
    await w.model(turn(call('Bash', { command: 'echo three' })), turn('Done.'));
    await w.command(exe, flags, w.line('/watch'));
    return { agent, lead, command: noted(log) };
  });
  assert.deepEqual(got.haft, got.reference);
  assert.deepEqual(got.haft.agent, [['PreToolUse', 'guard', 'echo sub'], ['SubagentStop', 'guard', '']]);
});
