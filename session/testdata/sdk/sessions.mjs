// What the official SDK makes of the sessions in CLAUDE_CONFIG_DIR: prints one JSON object per command.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
const require = createRequire(process.cwd() + '/');
const sdk = await import(pathToFileURL(require.resolve('@anthropic-ai/claude-agent-sdk')).href);
const [command, id, dir, value] = process.argv.slice(2);
const commands = {
  list: () => sdk.listSessions({ dir }),
  info: () => sdk.getSessionInfo(id, { dir }),
  messages: () => sdk.getSessionMessages(id, { dir }),
  fork: () => sdk.forkSession(id, value ? { dir, upToMessageId: value } : { dir }),
  rename: () => sdk.renameSession(id, value, { dir }),
  tag: () => sdk.tagSession(id, value, { dir }),
};
console.log(JSON.stringify((await commands[command]()) ?? null));
