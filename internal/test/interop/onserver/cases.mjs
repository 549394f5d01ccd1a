// What a program of the SDK does with a conversation on a server. The mode that turns
// permissions off is for the terminal only, so these cases decide about calls themselves.
import assert from 'node:assert/strict';
import { alive, call, collect, feed, text, test, turn, until } from '../suite.mjs';

const ask = (canUseTool, more = {}) => ({ tools: ['Bash', 'Read', 'Write', 'Edit'], permissionMode: 'default', allowDangerouslySkipPermissions: false, canUseTool, ...more });
const touch = (name = 'made') => call('Bash', { command: `touch ${name}` }, 'toolu_touch');

test('the callback of the program allows a call', async (w) => {
  await w.model(turn(touch()), turn('Done.'));
  const asked = [];
  const run = await w.ask('go', ask(async (name, input) => { asked.push(name); return { behavior: 'allow', updatedInput: input }; }));
  assert.equal(run.result.subtype, 'success');
  assert.ok(w.exists('made'));
  assert.deepEqual(asked, ['Bash']);
});

test('the callback of the program denies a call', async (w) => {
  await w.model(turn(touch()), turn('All right.'));
  const run = await w.ask('go', ask(async () => ({ behavior: 'deny', message: 'not on my watch' })));
  assert.ok(!w.exists('made'));
  assert.match(text(run.toolResults[0]), /not on my watch/);
  assert.equal(run.result.subtype, 'success');
});

test('a conversation has several turns, and is resumed by its id', async (w) => {
  await w.model(turn('First.'), turn('Second.'), turn('Third.'));
  const prompts = feed('the word is mango');
  const first = await collect(w.query(prompts, ask()), (m, run) => {
    if (m.type === 'result') run.results.length === 1 ? prompts.push('and now?') : prompts.end();
  });
  assert.deepEqual(first.results.map((r) => r.result), ['First.', 'Second.']);
  const again = await w.ask('which word?', ask(undefined, { resume: first.init.session_id }));
  assert.equal(again.init.session_id, first.init.session_id);
  assert.equal(again.result.result, 'Third.');
  assert.match(JSON.stringify((await w.requests()).at(-1).messages), /mango/);
});

test('interrupt ends the command, and the conversation continues', async (w) => {
  await w.model(turn(call('Bash', { command: `echo $$ > ${w.dir}/pid; sleep 300` })), turn('After.'));
  const prompts = feed('one');
  const q = w.query(prompts, ask(async (_, input) => ({ behavior: 'allow', updatedInput: input })));
  const run = await collect(q, (m, run) => {
    if (m.type === 'assistant' && m.message.content[0].type === 'tool_use') {
      until('the command runs', () => w.exists('pid') && w.read('pid').trim()).then(() => q.interrupt());
    }
    if (m.type === 'result') run.results.length === 1 ? prompts.push('two') : prompts.end();
  });
  assert.equal(run.results[0].terminal_reason, 'aborted_tools');
  assert.equal(run.toolResults[0].is_error, true);
  assert.equal(run.results[1].result, 'After.');
  await until('the command ends', () => !alive(Number(w.read('pid'))));
});
