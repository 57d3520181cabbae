import * as v from 'valibot';
import { parseJson } from '../../core/json.ts';
import type { SecretFilter } from './secret-filter.ts';

const Chunk = v.looseObject({ choices: v.tuple([v.looseObject({ delta: v.record(v.string(), v.unknown()) })]) });
type Chunk = v.InferOutput<typeof Chunk>;

/** The members of a chunk that hold a piece of a text. */
const TEXTS = ['content', 'reasoning_content', 'refusal'] as const;

/** A text that goes on; `held`: its end, which may be the beginning of a secret. */
type OpenText = { readonly chunk: Chunk; readonly name: string; readonly held: string };

/** Takes secrets out of the chunks of a chat, also those of which each chunk has a piece. */
export type ChunkFilter = {
  /** What is to be sent for the data of the next event, in order. */
  readonly take: (data: string) => readonly string[];
  /** What is left at the end. */
  readonly end: () => readonly string[];
};

const withText = ({ choices: [choice], ...chunk }: Chunk, name: string, text: string): string =>
  JSON.stringify({ ...chunk, choices: [{ ...choice, delta: { ...choice.delta, [name]: text } }] });

/** Creates the filter of one stream. It holds no more than the characters that may begin a secret. */
export const createChunkFilter = (hide: SecretFilter): ChunkFilter => {
  let open: OpenText | undefined;
  const end = (): readonly string[] => {
    const rest = open === undefined || open.held === '' ? [] : [withText(open.chunk, open.name, open.held)];
    open = undefined;
    return rest;
  };
  return {
    take(data) {
      const chunk = parseJson(Chunk, data);
      const delta = chunk?.choices[0].delta;
      const name = TEXTS.find((member) => typeof delta?.[member] === 'string' && delta[member] !== '');
      const before = name === undefined || name !== open?.name ? end() : [];
      if (chunk === undefined || name === undefined) return [...before, hide(data)];
      const text = hide(`${open?.held ?? ''}${delta?.[name]}`);
      const sure = text.length - hide.openChars(text);
      open = { chunk, name, held: text.slice(sure) };
      return [
        ...before,
        hide(text === delta?.[name] && sure === text.length ? data : withText(chunk, name, text.slice(0, sure))),
      ];
    },
    end,
  };
};
