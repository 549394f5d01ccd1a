// examples/batch, written with the official SDK.
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { query } from '@anthropic-ai/claude-agent-sdk';

/** batch answers each line of input, and spends no more than a total. Each answer may cost a share of it. */
export async function batch(input, print, total, each, workers, options) {
  let spent = 0;
  let held = 0;
  const waiting = [];
  const hold = async () => {
    for (;;) {
      const want = Math.min(each, total - spent);
      if (want > 0 && want <= total - spent - held) {
        held += want;
        return want;
      }
      if (held === 0) return 0;
      await new Promise((wake) => waiting.push(wake));
    }
  };
  const settle = (want, cost) => {
    held -= want;
    spent += cost;
    for (const wake of waiting.splice(0)) wake();
  };
  const answer = async (prompt) => {
    const maxBudgetUsd = await hold();
    if (maxBudgetUsd === 0) return 'not asked: the budget is spent';
    let result;
    try {
      for await (const m of query({ prompt, options: { ...options, maxBudgetUsd } })) {
        if (m.type === 'result') result = m;
      }
      return result?.result ?? 'failed: no result';
    } catch (error) {
      return 'failed: ' + error.message;
    } finally {
      settle(maxBudgetUsd, result?.total_cost_usd ?? maxBudgetUsd);
    }
  };
  const lines = createInterface({ input })[Symbol.asyncIterator]();
  const work = async () => {
    for (let line; !(line = await lines.next()).done;) print(`${line.value}: ${await answer(line.value)}`);
  };
  await Promise.all(Array.from({ length: workers }, work));
  print(`spent $${spent.toFixed(2)} of $${total.toFixed(2)}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await batch(process.stdin, console.log, Number(process.argv[2] ?? 1), Number(process.argv[3] ?? 0.1), 4, { tools: ['Read', 'Grep', 'Glob'] });
}
