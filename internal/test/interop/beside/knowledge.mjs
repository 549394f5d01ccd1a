// What is written down for models, and when both programs tell them.
import assert from 'node:assert/strict';
import { both, call, test, turn } from '../suite.mjs';

/** told is which of the words each request of a session had. */
async function told(w, exe, words, flags = []) {
  await w.command(exe, ['--input-format', 'stream-json', '--setting-sources', 'user,project', ...flags], w.line('hi'));
  return (await w.requests()).map((r) => words.filter((word) => JSON.stringify(r).includes(word)));
}

test('rules count at once, or when a file is read that they are for', async (w) => {
  w.file('.claude/rules/all.md', 'RULEALL\n');
  w.file('.claude/rules/go.md', '---\npaths: "**/*.go"\n---\nRULEGO\n');
  w.file('.claude/rules/deep/py.md', '---\npaths:\n  - "src/**/*.{py,pyi}"\n---\nRULEPY\n');
  const [go, py, other] = [w.file('a.go', 'package a\n'), w.file('src/x/y.pyi', 'x\n'), w.file('src/x/z.txt', 'z\n')];
  const got = await both(w, async (exe) => {
    await w.model(turn(call('Read', { file_path: go })), turn(call('Read', { file_path: other })), turn(call('Read', { file_path: py })), turn('Done.'));
    return told(w, exe, ['RULEALL', 'RULEGO', 'RULEPY']);
  });
  assert.deepEqual(got.haft, [['RULEALL'], ['RULEALL', 'RULEGO'], ['RULEALL', 'RULEGO'], ['RULEALL', 'RULEGO', 'RULEPY']]);
  assert.deepEqual(got.haft, got.reference);
});

test('claudeMdExcludes leaves instructions out', async (w) => {
  w.file('CLAUDE.md', 'MAINMD\n');
  w.file('sub/CLAUDE.md', 'SUBMD\n');
  w.file('other/CLAUDE.md', 'OTHERMD\n');
  const [left, taken] = [w.file('sub/x.txt', 'x\n'), w.file('other/x.txt', 'x\n')];
  const got = await both(w, async (exe) => {
    await w.model(turn(call('Read', { file_path: left })), turn(call('Read', { file_path: taken })), turn('Done.'));
    return told(w, exe, ['MAINMD', 'SUBMD', 'OTHERMD'], ['--settings', JSON.stringify({ claudeMdExcludes: ['**/sub/CLAUDE.md'] })]);
  });
  assert.deepEqual(got.haft, [['MAINMD'], ['MAINMD'], ['MAINMD', 'OTHERMD']]);
  assert.deepEqual(got.haft, got.reference);
});
