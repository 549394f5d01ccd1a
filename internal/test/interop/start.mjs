// The first program of docs/migrate.md.
import { query } from '@anthropic-ai/claude-agent-sdk';

const options = { pathToClaudeCodeExecutable: '/usr/local/bin/haft', allowedTools: ['Read', 'Grep'] };
for await (const message of query({ prompt: 'What does this repository do?', options })) {
  if (message.type === 'result') console.log(message.result);
}
