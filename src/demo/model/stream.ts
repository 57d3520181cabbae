import type { Clock } from '../../core/clock.ts';
import type { CompleteAnswer, DialectWriter } from './dialect.ts';
import type { Piece, ScriptedAnswer, ScriptedFinish, ScriptedUsage } from './reply.ts';

type AnswerStream = {
  readonly writer: DialectWriter;
  readonly clock: Clock;
  readonly answer: CompleteAnswer;
  readonly pieces: readonly Piece[];
  /** Aborts when the caller disconnects. */
  readonly aborted: AbortSignal;
};

const CHARS_PER_TOKEN = 4;

const joinPieces = (pieces: readonly Piece[], kind: 'text' | 'reasoning'): string =>
  pieces.map((piece) => (piece.kind === kind ? piece.text : '')).join('');

const estimateUsage = (prompt: string, completion: string): ScriptedUsage => ({
  prompt: Math.ceil(prompt.length / CHARS_PER_TOKEN),
  completion: Math.ceil(completion.length / CHARS_PER_TOKEN),
});

/** Fills in everything that a scripted answer leaves open. `prompt`: the text that its usage is estimated from. */
export const completeAnswer = (
  { pieces, finish, usage }: ScriptedAnswer,
  { id, prompt }: { readonly id: string; readonly prompt: string },
): CompleteAnswer => {
  const made = pieces.flatMap((piece) => (piece.kind === 'calls' ? piece.calls : []));
  const calls = made.map((call, index) => ({ ...call, id: call.id ?? `call_${id}_${index}` }));
  const text = joinPieces(pieces, 'text');
  const implied: ScriptedFinish = calls.length === 0 ? 'stop' : 'tool_calls';
  const counted = usage === undefined ? estimateUsage(prompt, text + JSON.stringify(calls)) : (usage ?? undefined);
  return { text, reasoning: joinPieces(pieces, 'reasoning'), calls, finish: finish ?? implied, usage: counted };
};

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

const wait = (clock: Clock, ms: number, signal: AbortSignal): Promise<void> => {
  let cancel = () => {};
  const over = new Promise<void>((resolve) => {
    cancel = clock.after(ms, resolve);
  });
  return Promise.race([over, untilAborted(signal)]).finally(() => cancel());
};

async function* writeChunks({ writer, clock, answer, pieces, aborted }: AnswerStream): AsyncGenerator<string> {
  yield* writer.begin();
  let callCount = 0;
  for (const piece of pieces) {
    switch (piece.kind) {
      case 'text':
      case 'reasoning':
        yield* writer[piece.kind](piece.text);
        break;
      case 'calls':
        yield* writer.calls(answer.calls.slice(callCount, callCount + piece.calls.length));
        callCount += piece.calls.length;
        break;
      case 'raw':
        yield piece.text;
        break;
      case 'error':
        yield* writer.error(piece.code, piece.message);
        break;
      case 'wait':
        await wait(clock, piece.ms, aborted);
        break;
      case 'wait-for':
        await Promise.race([piece.event, untilAborted(aborted)]);
        break;
      case 'hang':
        await untilAborted(aborted);
        return;
      case 'break':
        throw new Error('The demo model breaks the connection');
      case 'close':
        return;
      default:
        piece satisfies never;
    }
  }
  yield* writer.end(answer.finish, answer.usage);
}

/** The body of a streamed answer. `onCancel` is called when its reader disconnects. */
export const createStreamBody = (answer: AnswerStream, onCancel: () => void): ReadableStream<Uint8Array> => {
  const chunks = writeChunks(answer);
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
    cancel: onCancel,
  });
};
