import * as v from 'valibot';
import { parseJson } from '../../core/json.ts';
import type { SecretFilter } from './secret-filter.ts';

const Choice = v.looseObject({ delta: v.record(v.string(), v.unknown()), finish_reason: v.optional(v.unknown()) });
const Chunk = v.looseObject({ choices: v.tuple([Choice]) });
type Chunk = v.InferOutput<typeof Chunk>;

/** The members of a chunk that hold a piece of a text. */
const TEXTS = ['content', 'reasoning_content', 'refusal'] as const;

/** The end of a text that goes on, which may be the beginning of a secret, with the chunk that it came in. */
type HeldEnd = { readonly chunk: Chunk; readonly text: string };

/** Takes secrets out of the chunks of a chat, also those of which each chunk has a piece. */
export type ChunkFilter = {
  /** What is to be sent for the data of the next event, in order. */
  readonly take: (data: string) => readonly string[];
  /** What is left at the end. */
  readonly end: () => readonly string[];
};

const withDelta = ({ choices: [choice], ...chunk }: Chunk, delta: Readonly<Record<string, unknown>>): string =>
  JSON.stringify({ ...chunk, choices: [{ ...choice, delta }] });

/**
 * Creates the filter of one stream. Of each text it holds no more than the characters that may begin a secret, until the text goes
 * on, whatever stands between, or until the answer is finished.
 */
export const createChunkFilter = (hide: SecretFilter): ChunkFilter => {
  const held = new Map<string, HeldEnd>();
  const end = (): readonly string[] => {
    const rest = [...held].map(([name, { chunk, text }]) => hide(withDelta(chunk, { [name]: text })));
    held.clear();
    return rest;
  };
  return {
    take(data) {
      const chunk = parseJson(Chunk, data);
      if (chunk === undefined) return [...end(), hide(data)];
      const { delta, finish_reason: finish } = chunk.choices[0];
      const isLast = finish !== undefined && finish !== null;
      const sent: Record<string, unknown> = { ...delta };
      for (const name of TEXTS) {
        const before = held.get(name)?.text ?? '';
        const piece = typeof delta[name] === 'string' ? delta[name] : '';
        if (piece === '' && !(isLast && before !== '')) continue;
        const text = hide(`${before}${piece}`);
        const sure = isLast ? text.length : text.length - hide.openChars(text);
        held.delete(name);
        if (sure < text.length) held.set(name, { chunk, text: text.slice(sure) });
        sent[name] = text.slice(0, sure);
      }
      const isUnchanged = TEXTS.every((name) => sent[name] === delta[name]);
      return [hide(isUnchanged ? data : withDelta(chunk, sent))];
    },
    end,
  };
};
