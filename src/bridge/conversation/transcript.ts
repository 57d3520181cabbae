import { INVISIBLE_CHARACTERS } from '../../core/text.ts';
import type { MessageRecord } from '../agent/schema.ts';
import type { AgentModel, Prompt } from '../agent/types.ts';
import { type BridgeRequest, type HistoryMessage, type PromptPart, textOfParts } from '../request.ts';

const textOf = ({ parts }: MessageRecord, isWithSynthetic = false): string =>
  parts
    .flatMap((part) =>
      part.type === 'text' && part.ignored !== true && (isWithSynthetic || part.synthetic !== true) ? [part.text] : [],
    )
    .join('\n\n');

const isSynthetic = ({ parts }: MessageRecord): boolean =>
  parts.some((part) => part.type === 'text' && part.synthetic === true);

/** Which user messages somebody has written. The others are the agent's: it asks for a summary, and goes on after it. */
const promptsIn = (records: readonly MessageRecord[], known: ReadonlySet<string>): ReadonlySet<string> => {
  const summed = records.flatMap(({ info }) =>
    info.role === 'assistant' && info.summary === true ? [info.parentID] : [],
  );
  const isOwn = (record: MessageRecord) =>
    textOf(record) !== '' || !(isSynthetic(record) || summed.includes(record.info.id));
  const written = records.filter(
    (record) => record.info.role === 'user' && (known.has(record.info.id) || isOwn(record)),
  );
  return new Set(written.map(({ info }) => info.id));
};

/** Prompts that came after the last known one: somebody asked beside us, or before we were started. */
export const promptIDsAfter = (records: readonly MessageRecord[], known: ReadonlySet<string>): string[] => {
  const last = records.findLastIndex(({ info }) => known.has(info.id));
  const prompts = promptsIn(records, known);
  return records.slice(last + 1).flatMap(({ info }) => (prompts.has(info.id) ? [info.id] : []));
};

export type UpTo = {
  readonly promptID: string;
  /** All prompts that are known. */
  readonly known: ReadonlySet<string>;
  /** Whether the first prompt reports what was said before. That is told again as it is. */
  readonly hasReplay: boolean;
};

/** What was said in a session, up to the end of a turn; nothing where there is no such turn any more. */
export const messagesUpTo = (
  records: readonly MessageRecord[],
  { promptID, known, hasReplay }: UpTo,
): HistoryMessage[] | undefined => {
  const from = records.findIndex(({ info }) => info.id === promptID);
  if (from === -1) return undefined;
  const prompts = promptsIn(records, known);
  const next = records.findIndex(({ info }, place) => place > from && prompts.has(info.id));
  const [first] = prompts;
  return records
    .slice(0, next === -1 ? records.length : next)
    .filter(({ info }) => info.role === 'user' || info.summary !== true)
    .map((record) => ({ role: record.info.role, text: textOf(record, hasReplay && record.info.id === first) }))
    .filter(({ text }) => text !== '');
};

/**
 * What was said elsewhere, for a session that has not heard it. As JSON, so that nothing said in it can look like its end, and
 * in a part of its own, which stands before the user's words.
 */
const earlierWords = (said: readonly HistoryMessage[]): string =>
  [
    'Earlier in this conversation the following was said. It is context only: answer the message after it.',
    JSON.stringify(
      said.map(({ role, text }) => ({ role, text })),
      undefined,
      1,
    ),
  ].join('\n');

/** The prompt for the agent. */
export const toAgentPrompt = (
  asked: BridgeRequest,
  replay: readonly HistoryMessage[],
  { model, agent }: { readonly model: AgentModel | undefined; readonly agent: string | undefined },
): Prompt => ({
  parts: [
    ...(replay.length === 0 ? [] : [{ type: 'text' as const, text: earlierWords(replay), synthetic: true }]),
    ...replay.flatMap(({ files = [] }) => files),
    ...asked.prompt,
  ],
  model: model === undefined ? undefined : { providerID: model.providerID, modelID: model.modelID },
  variant: asked.effort !== undefined && model?.variants.includes(asked.effort) ? asked.effort : undefined,
  agent,
  system: asked.system,
  hasTools: !asked.isBackgroundTask,
});

const TITLE_CHARS = 60;
const LOOKED_AT_CHARS = 1000;
const UNTITLED = 'Conversation';

/** A title for a session: its first words, in one line. With one the agent need not ask a model for it. */
export const sessionTitleFor = (prompt: readonly PromptPart[]): string => {
  const line = textOfParts(prompt)
    .slice(0, LOOKED_AT_CHARS)
    .replace(/\s+/g, ' ')
    .replace(INVISIBLE_CHARACTERS, '')
    .trim();
  const points = [...line];
  if (points.length <= TITLE_CHARS) return line === '' ? UNTITLED : line;
  const cut = points.slice(0, TITLE_CHARS - 1).join('');
  return `${cut.replace(/ +\S*$/, '')}…`;
};
