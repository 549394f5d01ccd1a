// What goes wrong on the model's side.
import assert from 'node:assert/strict';
import { call, collect, fault, feed, reference, say, text, test, turn } from '../suite.mjs';

const tools = ['Bash', 'Read', 'Write', 'Edit'];

for (const [status, error, type] of [[401, 'authentication_failed', 'authentication_error'], [400, 'invalid_request', 'invalid_request_error']]) {
  test(`an answer of ${status} is an error result with exit code 1`, async (w) => {
    w.env.CLAUDE_CODE_MAX_RETRIES = '0';
    await w.model(fault(status, { error_type: type, error_message: 'scripted trouble' }));
    const run = await w.ask('go', { tools });
    const { result } = run;
    assert.equal(result.subtype, 'success');
    assert.equal(result.is_error, true);
    assert.equal(result.terminal_reason, 'api_error');
    assert.equal(result.api_error_status, status);
    assert.equal(result.stop_reason, 'stop_sequence');
    assert.match(result.result, /scripted trouble/);
    const said = run.of('assistant').at(-1);
    assert.ok(said.error === error || (reference && said.error === 'unknown'), said.error);
    assert.equal(said.is_api_error_message, true);
    assert.equal(said.message.model, '<synthetic>');
    assert.ok(run.error, 'the SDK throws');
    assert.equal(w.children[0].exitCode, 1);
  });
}

test('an overloaded server is tried again, and each try is told', async (w) => {
  await w.model(fault(529, { times: 1 }));
  const run = await w.ask('go', { tools });
  const [retry] = run.of('system', 'api_retry');
  assert.equal(retry.attempt, 1);
  assert.equal(retry.max_retries, 2);
  assert.equal(retry.error_status, 529);
  assert.equal(retry.error, 'overloaded');
  assert.ok(retry.retry_delay_ms >= 0);
  assert.equal(run.result.subtype, 'success');
  assert.equal(run.result.is_error, false);
  assert.equal(run.result.result, 'the answer after all');
});

test('retry-after is obeyed', async (w) => {
  await w.model(fault(429, { times: 1, retry_after: '1' }));
  const run = await w.ask('go', { tools });
  assert.equal(run.of('system', 'api_retry')[0].error, 'rate_limit');
  assert.ok(run.of('system', 'api_retry')[0].retry_delay_ms >= 1000);
  assert.equal(run.result.is_error, false);
});

test('when tries are over the last error is the result', async (w) => {
  w.env.CLAUDE_CODE_MAX_RETRIES = '1';
  await w.model(fault(500));
  const run = await w.ask('go', { tools });
  assert.equal(run.of('system', 'api_retry').length, 1);
  assert.equal(run.result.is_error, true);
  assert.equal(run.result.api_error_status, 500);
});

test('the fallback model takes over after three overloads', async (w) => {
  w.env.CLAUDE_CODE_MAX_RETRIES = '10';
  await w.model({ turns: [fault(529, { times: 3, retry_after: '0' })] });
  const run = await w.ask('go', { tools, model: 'sonnet', fallbackModel: 'haiku' });
  const [fell] = run.of('system', 'model_fallback');
  assert.match(fell.original_model, /sonnet/);
  assert.match(fell.fallback_model, /haiku/);
  assert.equal(fell.trigger, 'overloaded');
  assert.equal(run.result.is_error, false);
  assert.match((await w.requests()).at(-1).model, /haiku/);
});

test('a stream that breaks off before anything is asked for again', async (w) => {
  await w.model({ turns: [{ ...turn('Whole.'), break: 'cut', after: 1 }] });
  const run = await w.ask('go', { tools });
  assert.equal(run.result.result, 'Whole.');
  assert.equal(run.result.is_error, false);
});

test('a stream that breaks off after a call keeps the call, and the turn goes on', async (w) => {
  await w.model({ turns: [{ blocks: [call('Bash', { command: 'echo once >> ran' }, 'toolu_1'), say('and then')], break: 'cut', after: 6 }, turn('Done.')] });
  const run = await w.ask('go', { tools });
  assert.equal(run.result.subtype, 'success');
  assert.equal(w.read('ran'), 'once\n');
});

test('no server at all is an error result', async (w) => {
  w.env.CLAUDE_CODE_MAX_RETRIES = '1';
  w.env.ANTHROPIC_BASE_URL = 'http://127.0.0.1:9';
  const run = await w.ask('go', { tools });
  assert.equal(run.result.is_error, true);
  assert.equal(run.result.subtype, 'success');
  assert.equal(run.of('system', 'api_retry')[0].error_status, null);
  assert.equal(w.children[0].exitCode, 1);
});

test('after an error the session can go on', async (w) => {
  w.env.CLAUDE_CODE_MAX_RETRIES = '0';
  await w.model(fault(400, { times: 1, error_message: 'scripted trouble' }), turn('Second.'));
  const prompts = feed('one');
  const run = await collect(w.query(prompts, { tools }), (m, run) => {
    if (m.type === 'result') run.results.length === 1 ? prompts.push('two') : prompts.end();
  });
  assert.deepEqual(run.results.map((r) => r.is_error), [true, false]);
  assert.equal(run.error, undefined);
  assert.equal(w.children[0].exitCode, 0);
}, { only: 'haft' }); // the official one tries a 400 again by itself

test('a call whose input is no JSON is sent to the model', async (w) => {
  await w.model({ turns: [{ blocks: [{ tool: 'Bash', raw: '{"command": "echo' }] }, turn('Sorry.')] });
  const run = await w.ask('go', { tools });
  assert.equal(run.toolResults[0].is_error, true);
  assert.match(text(run.toolResults[0]), /JSON|could not be read/);
  assert.equal(run.result.result, 'Sorry.');
});
