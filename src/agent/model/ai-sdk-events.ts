import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { untilAborted } from '../../core/async.ts';
import { parseJsonValue } from '../../core/json.ts';
import { isIgnorableEvent, toFinish, toTokens } from './ai-sdk-output.ts';
import { ModelError, type ModelEvent } from './types.ts';

/** The parts of a streamed answer as an adapter of the SDK gives them. */
export type AiParts = ReadableStream<LanguageModelV4StreamPart>;

/** A tool call that the adapter has read completely, with the text of its arguments. */
type CompletedCall = { readonly id: string; readonly name: string; readonly input: string };

const BLANK = /^\s*$/;

/** Many models send nothing where a tool takes no arguments. */
const parseInput = (raw: string): unknown => (BLANK.test(raw) ? {} : parseJsonValue(raw));

/** Collects the tool calls of one answer. */
const createCallReader = () => {
  const begun = new Map<string, string>();
  let count = 0;
  const begin = (id: string, name: string): readonly ModelEvent[] => {
    if (begun.has(id)) return [];
    begun.set(id, '');
    return [{ kind: 'call-begun', id, name }];
  };
  return {
    count: () => count,
    begin,
    add: (id: string, delta: string): void => void begun.set(id, (begun.get(id) ?? '') + delta),
    end({ id, name, input }: CompletedCall): readonly ModelEvent[] {
      const beginning = begin(id, name);
      // Some backends send the arguments only with the end of the call.
      const raw = begun.get(id) || input || '{}';
      count += 1;
      return [...beginning, { kind: 'call', id, name, input: parseInput(raw), raw }];
    },
  };
};

/** Some adapters pass on deltas without text, such as a signature. */
const deltaEvent = (kind: 'text' | 'reasoning', delta: string): readonly ModelEvent[] =>
  delta === '' ? [] : [{ kind, delta }];

type Reading = {
  readonly providerID: string;
  /** False when the tools are only there to explain earlier calls. */
  readonly mayCall: boolean;
  readonly onUnsupported: (feature: string) => void;
  /** Takes over the parts after the last one of an answer, which say nothing. */
  readonly onWhole: (rest: Pick<ReadableStreamDefaultReader<unknown>, 'read'>) => void;
};

/** Reads the adapter's parts as events. Throws the errors among them. */
export async function* readEvents(
  parts: AiParts,
  { providerID, mayCall, onUnsupported, onWhole }: Reading,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent> {
  const who = `The provider "${providerID}"`;
  const calls = createCallReader();
  const reader = parts.getReader();
  let isWhole = false;
  try {
    for (;;) {
      // The stream ends when the signal aborts, but not at once when the consumer is slow.
      const { value: part } = await untilAborted(reader.read(), signal);
      if (part === undefined) break;
      switch (part.type) {
        case 'stream-start':
          for (const warning of part.warnings) if ('feature' in warning) onUnsupported(warning.feature);
          break;
        case 'text-delta':
          yield* deltaEvent('text', part.delta);
          break;
        case 'reasoning-delta':
          yield* deltaEvent('reasoning', part.delta);
          break;
        case 'tool-input-start':
          yield* calls.begin(part.id, part.toolName);
          break;
        case 'tool-input-delta':
          calls.add(part.id, part.delta);
          break;
        case 'tool-call':
          yield* calls.end({ id: part.toolCallId, name: part.toolName, input: part.input });
          break;
        case 'error':
          if (!isIgnorableEvent(part.error)) throw part.error;
          break;
        case 'finish': {
          const { unified, raw } = part.finishReason;
          if (!mayCall && calls.count() > 0)
            throw new ModelError('api', `${who} asked for a call where none may be made`);
          const finish = toFinish(unified, raw, calls.count() > 0);
          if (finish === undefined) break;
          isWhole = true;
          yield { kind: 'finished', finish, tokens: toTokens(part.usage) };
          return;
        }
        default:
          break;
      }
    }
  } finally {
    if (isWhole) onWhole(reader);
    else void reader.cancel().catch(() => {});
  }
  throw new ModelError('cut-off', `${who} broke off before the end of its answer`, { isRetryable: true });
}
