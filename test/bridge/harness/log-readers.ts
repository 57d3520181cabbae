import type { ApprovalRequest, OutputEvent } from '../../../src/bridge/output.ts';
import type { LoggedCall, TurnLogWriter } from '../../../src/bridge/turn/log.ts';

/** Everything that is ready to run. */
export const quiet = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export const NEVER = new AbortController().signal;

/** Says more of a text, or begins it. */
export const appendText = (
  writer: TurnLogWriter,
  id: string,
  more: string,
  kind: 'text' | 'reasoning' = 'text',
): void => {
  if (writer.log.items().some((item) => item.id === id)) writer.addText(id, more);
  else writer.setText({ id, messageID: 'm', kind, text: more, isOver: false });
};
export const callItem = (id: string, output?: string): LoggedCall => ({
  ...{ kind: 'call', id, call: { id: `call_${id}`, name: 'look', input: '{}' } },
  result: output === undefined ? undefined : { output, isError: false },
});
export const askNamed = (id: string): ApprovalRequest => ({
  id,
  sessionID: 'ses_1',
  tool: 'pay',
  input: '{}',
  notes: [],
});

/** A saying in short. */
const wordFor = (outputEvent: OutputEvent): string => {
  switch (outputEvent.kind) {
    case 'text':
    case 'reasoning':
      return `${outputEvent.id}: ${outputEvent.text}`;
    case 'text-end':
    case 'reasoning-end':
      return `${outputEvent.id}.`;
    case 'call':
      return `(${outputEvent.call.id}`;
    case 'call-end': {
      const { call, output, isError, isWaiting = false } = outputEvent;
      return `${call.id}) ${isWaiting ? 'waiting ' : isError ? 'failed ' : ''}${output}`.trim();
    }
    case 'end':
      return `end ${outputEvent.end.finish} ${outputEvent.end.approvalRequests.map(({ id }) => id).join(' ')}`.trim();
    case 'client-call':
      return `call ${outputEvent.name} ${outputEvent.input}`;
    case 'refusal':
      return `refusal ${outputEvent.text}`;
    default:
      return `failure ${outputEvent.failure.code}`;
  }
};

export type Reader = {
  /** What it was told, each saying in short. */
  readonly collected: string[];
  /** Settles with its end. */
  readonly over: Promise<void>;
};

/** Reads as fast as it can, or only when `step` allows. */
export const readerOf = (
  outputEvents: AsyncIterable<OutputEvent>,
  step: () => Promise<void> = async () => {},
): Reader => {
  const collected: string[] = [];
  const read = async (): Promise<void> => {
    for await (const outputEvent of outputEvents) {
      collected.push(wordFor(outputEvent));
      await step();
    }
  };
  const over = read();
  over.catch(() => {});
  return { collected, over };
};

/** The same with the pieces of a text put together. */
export const joinedTexts = (collected: readonly string[]): readonly string[] => {
  const found: string[] = [];
  for (const word of collected) {
    const [, id = '', text = ''] = /^(\S+): ([\s\S]*)$/.exec(word) ?? [];
    if (id !== '' && found.at(-1)?.startsWith(`${id}: `)) found[found.length - 1] += text;
    else found.push(word);
  }
  return found;
};

/** What each text and call came to, where the pieces of a text may come in several answers. */
export const wholeIn = (collected: readonly string[]): string =>
  collected.flatMap((word) => /^[^:]+: ([\s\S]*)$/.exec(word)?.[1] ?? []).join('');
