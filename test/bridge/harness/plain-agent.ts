import type { HttpClient, OpenHttpStream } from '../../../src/core/http/client.ts';
import { SHOWN } from './world.ts';

const CHUNK_BYTES = 65_536;
const encoder = new TextEncoder();

/**
 * An agent over HTTP that does next to nothing itself: it reads no request, and every turn has the same text in one entry, whose
 * bytes are made beforehand. What then takes time is the bridge.
 */
export const createPlainAgent = ({ text }: { readonly text: string }) => {
  const textBytes = encoder.encode(JSON.stringify(text));
  let turns = 0;

  const turnOf = (number: number) => {
    const usage = { input: 1, output: 1, reasoning: 0, cacheRead: 0, cacheWrite: 0 };
    const ids = { id: `trn_${number}`, conversationID: `cnv_${number}`, sessionID: `ses_${number}`, promptID: 'msg_1' };
    return { ...ids, model: 'demo/main', isStored: true, metadata: {}, createdMs: 1, from: 0, position: 3, usage };
  };
  const frame = (name: string, data: string): Uint8Array => encoder.encode(`event: ${name}\ndata: ${data}\n\n`);
  /** The stream that begins a turn and is all of it. */
  const framesOf = (number: number): readonly Uint8Array[] => {
    const place = { messageID: `msg_${number}`, partID: `prt_${number}` };
    const entries = [
      { position: 1, type: 'text', ...place, text: 'the text' },
      { position: 2, type: 'text-ended', ...place },
      { position: 3, type: 'step', messageID: place.messageID, finish: 'stop' },
    ];
    const turn = turnOf(number);
    const [before = '', after = ''] = JSON.stringify(entries).split('"the text"');
    return [
      frame('turn', JSON.stringify({ outcome: 'begun', reader: 'rdr_1', turn: { ...turn, status: 'running' } })),
      encoder.encode(`event: entries\ndata: ${before}`),
      textBytes,
      encoder.encode(`${after}\n\n`),
      frame('end', JSON.stringify({ ...turn, status: 'completed', endedMs: 2, finish: 'stop' })),
    ];
  };
  const answerTo = (path: string): unknown => {
    if (path === '/config') return SHOWN.config;
    if (path === '/config/providers') return SHOWN.configProviders;
    if (path === '/global/health') return { healthy: true, version: '0.0.0', features: ['turns'] };
    return {};
  };

  const httpClient: HttpClient = async ({ url }) => {
    await new Promise((resolve) => setTimeout(resolve, 1));
    return { status: 200, header: () => null, text: JSON.stringify(answerTo(new URL(url).pathname)) };
  };
  const stream: OpenHttpStream = async ({ signal }) => {
    turns += 1;
    const number = turns;
    async function* chunks() {
      for (const bytes of framesOf(number)) {
        for (let from = 0; from < bytes.length; from += CHUNK_BYTES) {
          // As a socket has it: every chunk in a turn of its own.
          await new Promise((resolve) => setImmediate(resolve));
          signal.throwIfAborted();
          yield bytes.subarray(from, from + CHUNK_BYTES);
        }
      }
    }
    return { status: 200, header: (name) => (name === 'content-type' ? 'text/event-stream' : null), chunks: chunks() };
  };
  return { ways: { baseUrls: ['http://agent.test'], httpClient, stream } };
};
