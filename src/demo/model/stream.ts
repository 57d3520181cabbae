import type { Clock } from '../../core/clock.ts';
import type { Said, Voice } from './dialect.ts';
import type { Piece, ScriptedAnswer, ScriptedFinish, ScriptedUsage } from './reply.ts';

/** What an answer says, with everything filled in that its script leaves open. */
export type Telling = {
  readonly voice: Voice;
  readonly clock: Clock;
  readonly said: Said;
  readonly pieces: readonly Piece[];
  /** Aborts when nobody listens any more. */
  readonly left: AbortSignal;
};

const CHARS_PER_TOKEN = 4;

const wordsIn = (pieces: readonly Piece[], kind: 'text' | 'reasoning'): string =>
  pieces.map((piece) => (piece.kind === kind ? piece.text : '')).join('');

const countedUsage = (prompt: string, completion: string): ScriptedUsage => ({
  prompt: Math.ceil(prompt.length / CHARS_PER_TOKEN),
  completion: Math.ceil(completion.length / CHARS_PER_TOKEN),
});

/** An answer as a whole. `asked` is what its usage is counted by. */
export const saidIn = (
  { pieces, finish, usage }: ScriptedAnswer,
  { id, asked }: { readonly id: string; readonly asked: string },
): Said => {
  const made = pieces.flatMap((piece) => (piece.kind === 'calls' ? piece.calls : []));
  const calls = made.map((call, index) => ({ ...call, id: call.id ?? `call_${id}_${index}` }));
  const text = wordsIn(pieces, 'text');
  const implied: ScriptedFinish = calls.length === 0 ? 'stop' : 'tool_calls';
  const counted = usage === undefined ? countedUsage(asked, text + JSON.stringify(calls)) : (usage ?? undefined);
  return { text, reasoning: wordsIn(pieces, 'reasoning'), calls, finish: finish ?? implied, usage: counted };
};

const untilLeft = (left: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (left.aborted) resolve();
    else left.addEventListener('abort', () => resolve(), { once: true });
  });

const wait = (clock: Clock, ms: number, left: AbortSignal): Promise<void> => {
  let cancel = () => {};
  const over = new Promise<void>((resolve) => {
    cancel = clock.after(ms, resolve);
  });
  return Promise.race([over, untilLeft(left)]).finally(() => cancel());
};

async function* chunksOf({ voice, clock, said, pieces, left }: Telling): AsyncGenerator<string> {
  yield* voice.begin();
  let callCount = 0;
  for (const piece of pieces) {
    switch (piece.kind) {
      case 'text':
      case 'reasoning':
        yield* voice[piece.kind](piece.text);
        break;
      case 'calls':
        yield* voice.calls(said.calls.slice(callCount, callCount + piece.calls.length));
        callCount += piece.calls.length;
        break;
      case 'raw':
        yield piece.text;
        break;
      case 'error':
        yield* voice.error(piece.code, piece.message);
        break;
      case 'wait':
        await wait(clock, piece.ms, left);
        break;
      case 'hang':
        await untilLeft(left);
        return;
      case 'break':
        throw new Error('The demo model breaks the connection');
      case 'close':
        return;
      default:
        piece satisfies never;
    }
  }
  yield* voice.end(said.finish, said.usage);
}

/** The body of a streamed answer. `leave` is called when its reader goes. */
export const bodyOf = (telling: Telling, leave: () => void): ReadableStream<Uint8Array> => {
  const chunks = chunksOf(telling);
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(stream) {
      try {
        const { done, value } = await chunks.next();
        if (done) stream.close();
        else stream.enqueue(encoder.encode(value));
      } catch (error) {
        stream.error(error);
      }
    },
    cancel: leave,
  });
};
