import type { ModelEvent, ModelRequest } from '../../../src/agent/model/types.ts';
import { untilAborted } from '../../../src/core/async.ts';
import type { Script } from '../../agent/harness/world.ts';

const TOKENS = { input: 10, output: 5, reasoning: 0, cache: { read: 0, write: 0 }, total: 15 };
const FINISHED: ModelEvent = { kind: 'finished', finish: 'stop', tokens: TOKENS };

const textsOf = (message: ModelRequest['messages'][number] | undefined): readonly string[] =>
  message?.role === 'user' ? message.content.flatMap((part) => (part.kind === 'text' ? [part.text] : [])) : [];

/** The user's newest words, without what was told of earlier ones. */
export const lastTextTo = ({ messages }: ModelRequest): string => textsOf(messages.at(-1)).at(-1) ?? '';

/** Everything that a model was told but its instructions, as one text. */
export const messagesTo = (request: ModelRequest | undefined): string => JSON.stringify(request?.messages);

/** Answers what it is asked, request by request. */
export const answering = (textFor: (words: string, request: ModelRequest) => string): Script =>
  async function* (request) {
    yield { kind: 'text', delta: textFor(lastTextTo(request), request) };
    yield FINISHED;
  };

export type Dictated = {
  readonly script: Script;
  /** Resolves once the model is asked. */
  readonly begun: Promise<void>;
  readonly addReply: (delta: string) => void;
  readonly think: (delta: string) => void;
  /** Resolves once the model has been told to end. */
  readonly end: () => void;
  /** Resolves when it is left before its end. */
  readonly left: Promise<void>;
};

/** A model that says what a test tells it to, when it does. For one request. */
export const dictated = (): Dictated => {
  const begun = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  const events: ModelEvent[] = [];
  let arrival = Promise.withResolvers<void>();
  const add = (event: ModelEvent): void => {
    events.push(event);
    arrival.resolve();
  };
  return {
    async *script(_request, signal) {
      begun.resolve();
      signal.addEventListener('abort', () => left.resolve(), { once: true });
      for (;;) {
        for (let event = events.shift(); event !== undefined; event = events.shift()) {
          yield event;
          if (event.kind === 'finished') return;
        }
        arrival = Promise.withResolvers();
        await untilAborted(arrival.promise, signal);
      }
    },
    begun: begun.promise,
    addReply: (delta) => add({ kind: 'text', delta }),
    think: (delta) => add({ kind: 'reasoning', delta }),
    end: () => add(FINISHED),
    left: left.promise,
  };
};

/** A script for each request by its newest words; `otherwise` for all others. */
export const byPrompt = (scripts: Readonly<Record<string, Script>>, otherwise?: Script): Script =>
  async function* (request, signal) {
    const words = lastTextTo(request);
    const script = scripts[words] ?? otherwise;
    if (script === undefined) throw new Error(`Nothing to say to ${words}`);
    yield* script(request, signal);
  };
