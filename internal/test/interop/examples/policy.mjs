// examples/policy, written with the official SDK.
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { createSdkMcpServer, query, tool } from '@anthropic-ai/claude-agent-sdk';
import { z } from 'zod';

/** run answers a prompt with three tools and one of its own, under a policy of its own. */
export async function run(prompt, print, options) {
  const dir = options.cwd;
  const deploy = tool('Deploy', 'Deploys the service.', { to: z.enum(['staging', 'production']).describe('Where to.') }, async ({ to }) => {
    return { content: [{ type: 'text', text: 'deployed to ' + to }] };
  });
  const policy = async (name, input) => {
    const allow = { behavior: 'allow', updatedInput: input };
    switch (name) {
      case 'Read':
        return allow;
      case 'Edit':
      case 'Write': {
        const file = path.relative(dir, path.resolve(dir, input.file_path));
        return file.startsWith('docs' + path.sep) ? allow : { behavior: 'deny', message: 'only files in docs may be changed' };
      }
      case 'mcp__own__Deploy':
        return input.to === 'staging' ? allow : { behavior: 'deny', message: 'only people deploy to production' };
    }
    return { behavior: 'deny', message: 'this program does not allow that' };
  };
  const q = query({
    prompt,
    options: {
      ...options, tools: ['Read', 'Edit', 'Write'], maxTurns: 20, settingSources: [],
      mcpServers: { own: createSdkMcpServer({ name: 'own', tools: [deploy] }) },
      hooks: { PreToolUse: [{ hooks: [async () => ({ hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'ask' } })] }] },
      canUseTool: policy,
    },
  });
  for await (const m of q) {
    if (m.type === 'user') {
      for (const block of m.message.content) {
        if (block.type === 'tool_result') print((block.is_error ? 'failed: ' : 'done: ') + (block.content[0]?.text ?? block.content));
      }
    } else if (m.type === 'result') {
      print(m.result);
    }
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await run(process.argv.slice(2).join(' '), console.log, { cwd: process.cwd() });
}
