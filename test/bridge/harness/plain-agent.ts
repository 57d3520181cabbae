import type { HttpClient, OpenHttpStream } from '../../../src/core/http/client.ts';
import { SHOWN } from './world.ts';

type PlainAnswer = {
  /** The text of every answer. */
  readonly text: string;
  /** The text comes in one event, or in none and with the response alone. */
  readonly hasEvents?: boolean;
};

const CHUNK_BYTES = 65_536;
const encoder = new TextEncoder();

/**
 * An agent over HTTP that does next to nothing itself: it reads no prompt, and answers each with the same text, whose bytes are
 * made beforehand. What then takes time is the bridge.
 */
export const createPlainAgent = ({ text, hasEvents = true }: PlainAnswer) => {
  const textBytes = encoder.encode(JSON.stringify(text));
  const aroundText = (value: unknown): readonly Uint8Array[] => {
    const [before = '', after] = JSON.stringify(value).split('"the text"');
    return after === undefined ? [encoder.encode(before)] : [encoder.encode(before), textBytes, encoder.encode(after)];
  };
  let sessions = 0;
  let tell = (_chunks: readonly Uint8Array[]): void => {};
  const paths: string[] = [];

  const messagesOf = (sessionID: string) => {
    const [promptID, id] = [`msg_${sessionID}_1`, `msg_${sessionID}_2`];
    const time = { created: 1, completed: 2 };
    const tokens = { input: 1, output: 1, reasoning: 0, cache: { read: 0, write: 0 } };
    const info = { id, sessionID, role: 'assistant', parentID: promptID, time, tokens, finish: 'stop' };
    const part = { id: `prt_${sessionID}`, sessionID, messageID: id, type: 'text', text: 'the text', time: { end: 2 } };
    return { prompt: { id: promptID, sessionID, role: 'user' }, info, part };
  };
  const report = (type: string, properties: unknown): void =>
    tell([encoder.encode('data: '), ...aroundText({ type, properties }), encoder.encode('\n\n')]);
  const answerPrompt = (sessionID: string): string => {
    const { prompt, info, part } = messagesOf(sessionID);
    if (hasEvents) {
      report('message.updated', { info: prompt });
      report('message.updated', { info: { ...info, time: { created: 1 } } });
      report('message.part.updated', { part });
      report('message.updated', { info });
    }
    return Buffer.concat(aroundText({ info, parts: [part] })).toString('utf8');
  };
  const answerTo = (method: string, path: string): string => {
    const [, , sessionID = '', what] = path.split('/');
    const session = (id: string) => JSON.stringify({ id, time: { created: 1, updated: 1 } });
    if (path === '/config') return JSON.stringify(SHOWN.config);
    if (path === '/config/providers') return JSON.stringify(SHOWN.configProviders);
    if (what === 'message' && method === 'POST') return answerPrompt(sessionID);
    if (what === 'message') {
      const { prompt, info, part } = messagesOf(sessionID);
      const both = [
        { info: prompt, parts: [] },
        { info, parts: [part] },
      ];
      return Buffer.concat(aroundText(both)).toString('utf8');
    }
    if (method === 'DELETE') return 'true';
    if (sessionID !== '') return session(sessionID);
    if (method === 'GET') return '[]';
    sessions += 1;
    return session(`ses_${sessions}`);
  };

  const httpClient: HttpClient = async ({ method, url }) => {
    const { pathname } = new URL(url);
    paths.push(`${method} ${pathname}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
    return { status: 200, header: () => null, text: answerTo(method, pathname) };
  };
  const stream: OpenHttpStream = async ({ signal }) => {
    const waiting: Uint8Array[] = [encoder.encode('data: {"type":"server.connected","properties":{}}\n\n')];
    let wake = (): void => {};
    tell = (chunks) => {
      for (const chunk of chunks)
        for (let from = 0; from < chunk.length; from += CHUNK_BYTES)
          waiting.push(chunk.subarray(from, from + CHUNK_BYTES));
      wake();
    };
    signal.addEventListener('abort', () => wake(), { once: true });
    async function* chunks() {
      while (!signal.aborted) {
        const chunk = waiting.shift();
        // As a socket has it: every chunk in a turn of its own.
        await new Promise<void>((resolve) => {
          if (chunk !== undefined || signal.aborted) setImmediate(resolve);
          else wake = resolve;
        });
        if (chunk !== undefined) yield chunk;
      }
    }
    return { status: 200, header: (name) => (name === 'content-type' ? 'text/event-stream' : null), chunks: chunks() };
  };
  return { ways: { baseUrls: ['http://agent.test'], httpClient, stream }, paths };
};
