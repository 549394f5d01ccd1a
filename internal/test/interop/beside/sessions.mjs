// Sessions that both programs take turns in, and what their files say.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { both, call, programs, sdk, test, turn } from '../suite.mjs';

const tools = ['Bash', 'Read'];

/** lines are those of a session's journal. */
function lines(w, session) {
  const projects = path.join(w.home, '.claude/projects');
  const file = fs.readdirSync(projects, { recursive: true }).map(String).find((f) => f.endsWith(session + '.jsonl'));
  return fs.readFileSync(path.join(projects, file), 'utf8').trimEnd().split('\n').map((l) => JSON.parse(l));
}

/** heard is what of prompts, answers and results the model was sent last. */
async function heard(w) {
  const last = (await w.requests()).filter((r) => r.tools?.length).at(-1);
  return [...new Set(JSON.stringify(last.messages).match(/(prompt|answer|output)-\d+/g))].sort();
}

for (const order of ['reference haft reference haft haft reference', 'haft reference haft reference reference haft']) {
  test(`turns in alternation are all seen by both: ${order}`, async (w) => {
    const turns = order.split(' ').flatMap((_, i) => [
      turn(`I look: answer-${i}`, call('Bash', { command: `echo output-${i}` }, `toolu_${i}_a`), call('Bash', { command: `echo output-${100 + i}` }, `toolu_${i}_b`)),
      turn(`answer-${200 + i}`),
    ]);
    await w.model(...turns);
    const want = [];
    let resume;
    for (const [i, who] of order.split(' ').entries()) {
      const run = await w.ask(`prompt-${i}`, { tools, resume, pathToClaudeCodeExecutable: programs[who] });
      assert.equal(run.error, undefined, who);
      resume = run.result.session_id;
      want.push(`prompt-${i}`, `answer-${i}`, `output-${i}`, `output-${100 + i}`);
      assert.deepEqual(await heard(w), [...want].sort(), `what ${who} told the model in turn ${i}`);
      want.push(`answer-${200 + i}`);
      assert.equal(run.result.result, `answer-${200 + i}`);
    }
    process.env.CLAUDE_CONFIG_DIR = path.join(w.home, '.claude');
    const said = JSON.stringify(await sdk.getSessionMessages(resume, { dir: w.dir }));
    for (const i of order.split(' ').keys()) assert.match(said, new RegExp(`prompt-${i}\\b.*answer-${200 + i}\\b`));
  });
}

test('a branch that one program made is the conversation for the other', async (w) => {
  await w.model(turn('answer-1'), turn('answer-2'), turn('answer-3'), turn('answer-4'));
  const first = await w.ask('prompt-1', { tools, pathToClaudeCodeExecutable: programs.reference });
  const resume = first.result.session_id;
  await w.ask('prompt-2', { tools, resume, pathToClaudeCodeExecutable: programs.reference });
  await w.ask('prompt-3', { tools, resume, resumeSessionAt: first.of('assistant').at(-1).uuid, pathToClaudeCodeExecutable: programs.haft });
  assert.deepEqual(await heard(w), ['answer-1', 'prompt-1', 'prompt-3']);
  await w.ask('prompt-4', { tools, resume, pathToClaudeCodeExecutable: programs.reference });
  assert.deepEqual(await heard(w), ['answer-1', 'answer-2', 'prompt-1', 'prompt-3', 'prompt-4']);
});

test('a fork of a session of the other program has all of it', async (w) => {
  await w.model(turn('answer-1'), turn('answer-2'), turn('answer-3'));
  const first = await w.ask('prompt-1', { tools, pathToClaudeCodeExecutable: programs.reference });
  const fork = await w.ask('prompt-2', { tools, resume: first.result.session_id, forkSession: true, pathToClaudeCodeExecutable: programs.haft });
  assert.notEqual(fork.result.session_id, first.result.session_id);
  await w.ask('prompt-3', { tools, resume: fork.result.session_id, pathToClaudeCodeExecutable: programs.reference });
  assert.deepEqual(await heard(w), ['answer-1', 'answer-2', 'prompt-1', 'prompt-2', 'prompt-3']);
});

test('a journal has the same form: prompts, versions, tokens', async (w) => {
  const forms = await both(w, async (exe) => {
    await w.model(turn('I look.', call('Bash', { command: 'echo hi' })), turn('Done.'));
    const string = await w.command(exe, ['--input-format', 'stream-json'], w.line('a string'));
    const blocks = await w.ask('blocks, as the SDK sends them', { tools, pathToClaudeCodeExecutable: exe });
    const journal = lines(w, string.at(-1).session_id);
    const answers = journal.filter((l) => l.type === 'assistant');
    for (const l of journal.filter((l) => l.version)) assert.match(l.version, /^\d+\.\d+\.\d+/);
    const prompt = (id) => lines(w, id).find((l) => l.type === 'user' && !l.isMeta).message.content;
    return {
      string: prompt(string.at(-1).session_id), blocks: prompt(blocks.result.session_id),
      tokens: ['msg_scripted_0000', 'msg_scripted_0001'].map((id) => answers.filter((l) => l.message.id === id).at(-1).message.usage.output_tokens),
      last: journal.filter((l) => l.type === 'last-prompt').at(-1).lastPrompt,
    };
  });
  assert.deepEqual(forms.haft, forms.reference);
  assert.deepEqual(forms.haft.tokens, [8, 2]);
});

test('messages of a sub-agent name the call that it works for', async (w) => {
  const parents = await both(w, async (exe) => {
    await w.model({
      turns: [turn(call('Agent', { description: 'look', prompt: 'SUBWORK', subagent_type: 'general-purpose', run_in_background: false }, 'toolu_sub')), turn('All done.')],
      parts: [{ when: 'SUBWORK', turns: [turn('Sub says done.')] }],
    });
    const run = await w.ask('delegate', { pathToClaudeCodeExecutable: exe });
    process.env.CLAUDE_CONFIG_DIR = path.join(w.home, '.claude');
    const [agent] = await sdk.listSubagents(run.result.session_id, { dir: w.dir });
    const messages = await sdk.getSubagentMessages(run.result.session_id, agent, { dir: w.dir });
    assert.ok(messages.length > 1);
    return [...new Set(messages.map((m) => m.parent_tool_use_id))];
  });
  assert.deepEqual(parents.haft, ['toolu_sub']);
  assert.deepEqual(parents.haft, parents.reference);
});
