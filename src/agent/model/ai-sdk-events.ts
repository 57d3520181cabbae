import type { TextStreamPart, ToolSet } from 'ai';
import { untilAborted } from '../../core/async.ts';
import { parseJsonValue } from '../../core/json.ts';
import { isIgnorableEvent, toFinish, toTokens } from './ai-sdk-output.ts';
import { ModelError, type ModelEvent } from './types.ts';

/** The parts of a streamed answer as the SDK gives them. */
export type AiParts = ReadableStream<TextStreamPart<ToolSet>>;

/** A tool call that the SDK has read completely. `input` is what it parsed, or the text of the arguments where that failed. */
type CompletedCall = { readonly id: string; readonly name: string; readonly input: unknown };

const BLANK = /^\s*$/;

/** Many models send nothing where a tool takes no arguments. */
const parseInput = (raw: string): unknown => (BLANK.test(raw) ? {} : parseJsonValue(raw));

const toRawInput = (input: unknown): string => (typeof input === 'string' ? input : (JSON.stringify(input) ?? ''));

/** Collects the tool calls of one answer. Arguments are parsed here, so that the SDK does not repair them. */
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
      const raw = begun.get(id) || toRawInput(input);
      count += 1;
      return [...beginning, { kind: 'call', id, name, input: parseInput(raw), raw }];
    },
  };
};

/** Some adapters pass on deltas without text, such as a signature. */
const deltaEvent = (kind: 'text' | 'reasoning', delta: string): readonly ModelEvent[] =>
  delta === '' ? [] : [{ kind, delta }];

type Reading = { readonly providerID: string; readonly onUnsupported: (feature: string) => void };

/** Reads the SDK's parts as events. Throws the errors among them. */
export async function* readEvents(
  parts: AiParts,
  { providerID, onUnsupported }: Reading,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent> {
  const calls = createCallReader();
  const reader = parts.getReader();
  try {
    for (;;) {
      // The SDK ends its stream when the signal aborts, but not at once when the consumer is slow.
      const { value: part } = await untilAborted(reader.read(), signal);
      if (part === undefined) break;
      if (part.type === 'start-step') {
        for (const warning of part.warnings) if ('feature' in warning) onUnsupported(warning.feature);
      } else if (part.type === 'text-delta') yield* deltaEvent('text', part.text);
      else if (part.type === 'reasoning-delta') yield* deltaEvent('reasoning', part.text);
      else if (part.type === 'tool-input-start') yield* calls.begin(part.id, part.toolName);
      else if (part.type === 'tool-input-delta') calls.add(part.id, part.delta);
      else if (part.type === 'tool-call') {
        yield* calls.end({ id: part.toolCallId, name: part.toolName, input: part.input });
      } else if (part.type === 'error') {
        if (!isIgnorableEvent(part.error)) throw part.error;
      } else if (part.type === 'finish-step') {
        const finish = toFinish(part.finishReason, part.rawFinishReason, calls.count() > 0);
        if (finish === undefined) break;
        yield { kind: 'finished', finish, tokens: toTokens(part.usage) };
        return;
      }
    }
  } finally {
    void reader.cancel().catch(() => {});
  }
  const message = `The provider "${providerID}" broke off before the end of its answer`;
  throw new ModelError('cut-off', message, { isRetryable: true });
}
