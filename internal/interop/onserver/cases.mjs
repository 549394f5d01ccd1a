// What a program of the SDK does with a conversation on a server. The mode that turns
// permissions off is for the terminal only, so these cases decide about calls themselves.
import assert from 'node:assert/strict';
import { call, text, test, turn } from '../suite.mjs';

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
