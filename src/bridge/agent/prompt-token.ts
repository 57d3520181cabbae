import { BRIDGE_METADATA_KEY } from '../../core/http/metadata-revision.ts';
import type { MessageRecord, PartRecord } from './schema.ts';
import type { Prompt } from './types.ts';

/**
 * The parts of a prompt with the token by which its bridge knows it again among the messages of a session. OpenCode keeps metadata of
 * texts alone, and our server those of files too.
 */
export const withToken = (parts: Prompt['parts'], token: string) => {
  const marked = parts.find(({ type }) => type === 'text') ?? parts[0];
  return parts.map((part) => (part === marked ? { ...part, metadata: { [BRIDGE_METADATA_KEY]: { token } } } : part));
};

/** The token of the prompt that a part is of; undefined where a server keeps none, and for what other programs have sent. */
export const tokenOf = (part: PartRecord): string | undefined =>
  part.type === 'text' || part.type === 'reasoning' || part.type === 'file'
    ? part.metadata?.[BRIDGE_METADATA_KEY].token
    : undefined;

/** The token of the prompt that a message is; undefined as for its parts. */
export const tokenIn = ({ parts }: MessageRecord): string | undefined =>
  parts.map(tokenOf).find((token) => token !== undefined);

/** The id of the prompt whose token is that, or begins with it, as that of a response does; undefined where none of the messages has it. */
export const promptOfToken = (records: readonly MessageRecord[], token: string | undefined): string | undefined =>
  token === undefined
    ? undefined
    : records.find((record) => record.info.role === 'user' && tokenIn(record)?.startsWith(token))?.info.id;

const wordsOf = (parts: readonly (PartRecord | Prompt['parts'][number])[]): string =>
  JSON.stringify(parts.flatMap((part) => (part.type === 'text' && part.synthetic !== true ? [part.text] : [])));

/** The newest prompt with these words whose server has kept no token, apart from those in `known`; undefined where there is none. */
export const promptOfWords = (
  records: readonly MessageRecord[],
  parts: Prompt['parts'],
  known: ReadonlySet<string>,
): string | undefined => {
  const words = wordsOf(parts);
  const isAlike = (record: MessageRecord): boolean =>
    !known.has(record.info.id) && tokenIn(record) === undefined && wordsOf(record.parts) === words;
  return records.findLast((record) => record.info.role === 'user' && isAlike(record))?.info.id;
};
