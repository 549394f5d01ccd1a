// Measures query() from the call to its end, the executables in turn within each
// round, and prints the median of each in milliseconds as JSON.
//
//   node bench.mjs <rounds> <name>=<executable>…
import { World, call, turn } from './suite.mjs';

const [rounds, ...rest] = process.argv.slice(2);
const executables = rest.map((r) => r.split('='));
const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];

const scenarios = {
  'one answer': [turn('Hello.')],
  'one call': [turn(call('Bash', { command: 'echo hi' })), turn('Done.')],
};
for (const [name, turns] of Object.entries(scenarios)) {
  const took = Object.fromEntries(executables.map(([e]) => [e, []]));
  const worlds = {};
  for (const [e] of executables) {
    worlds[e] = new World('bench');
    await worlds[e].model(...turns);
  }
  for (let i = 0; i < Number(rounds) + 1; i++) {
    for (const [e, file] of executables) {
      const began = performance.now();
      const run = await worlds[e].ask('go', { tools: ['Bash', 'Read', 'Edit', 'Write'], pathToClaudeCodeExecutable: file });
      if (run.error || run.result?.is_error) throw run.error ?? new Error(run.result.result);
      if (i > 0) took[e].push(performance.now() - began); // the first one warms the caches
    }
  }
  console.log(JSON.stringify({ name, ms: Object.fromEntries(executables.map(([e]) => [e, median(took[e])])) }));
  for (const w of Object.values(worlds)) await w.cleanup();
}
