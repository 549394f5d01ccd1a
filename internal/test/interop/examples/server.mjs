// examples/server, written with the official SDK.
import http from 'node:http';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { query } from '@anthropic-ai/claude-agent-sdk';

/** newServer answers POST /chat with a stream of lines, and takes answers to questions at POST /answer. */
export function newServer(options) {
  const open = new Map();
  return http.createServer(async (req, res) => {
    const url = new URL(req.url, 'http://localhost');
    if (req.method === 'POST' && url.pathname === '/answer') {
      const answer = open.get(url.searchParams.get('question'));
      if (!answer) {
        res.writeHead(404).end('no such question\n');
        return;
      }
      answer(url.searchParams.get('allow') === 'true');
      res.writeHead(204).end();
      return;
    }
    if (req.method !== 'POST' || url.pathname !== '/chat') {
      res.writeHead(404).end();
      return;
    }
    const prompt = await text(req);
    if (!prompt) {
      res.writeHead(400).end('send a prompt\n');
      return;
    }
    const send = (event) => res.write(JSON.stringify(event) + '\n');
    const abortController = new AbortController();
    res.on('close', () => abortController.abort());
    const canUseTool = async (tool, input, { toolUseID, signal }) => {
      send({ question: toolUseID, tool, input });
      try {
        const allowed = await new Promise((resolve, reject) => {
          open.set(toolUseID, resolve);
          signal.addEventListener('abort', () => reject(new Error('withdrawn')));
        });
        return allowed ? { behavior: 'allow', updatedInput: input } : { behavior: 'deny', message: 'the user does not want that' };
      } finally {
        open.delete(toolUseID);
      }
    };
    const resume = url.searchParams.get('session') ?? undefined;
    try {
      for await (const m of query({ prompt, options: { ...options, resume, canUseTool, abortController } })) {
        if (m.type === 'assistant') {
          for (const block of m.message.content) if (block.type === 'text') send({ text: block.text });
        } else if (m.type === 'result') {
          send({ session: m.session_id, answer: m.result });
        }
      }
    } catch (error) {
      send({ error: error.message });
    }
    res.end();
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const server = newServer({ cwd: process.argv[2] ?? '.', maxTurns: 20 });
  process.on('SIGINT', () => server.close());
  server.listen(8080, 'localhost');
}
