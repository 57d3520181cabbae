import { type AgentToolCall, type ApprovalRequest, type ClientCall, type OutputEvent, SHOWN_CHARS } from '../output.ts';
import { STRUCTURED_OUTPUT_CALL } from '../stream/structured.ts';
import type { TurnEntry } from '../turns/port.ts';

/** Separates what was sent of a text that then restarted from the new text. */
const RESTART_SEPARATOR = '\n\n';

/** One text of the agent. Both methods return what has to be sent because of the change, which may be empty. */
type AppendOnlyText = {
  readonly add: (more: string) => string;
  /** What was sent does not count, and the text begins again. */
  readonly restart: () => void;
};

/**
 * Translates a text that can begin again into one that can only grow. What was sent cannot be taken back. When its backend was asked
 * again, the part that is repeated is not sent twice, and what differs follows in a new paragraph.
 */
const createAppendOnlyText = (): AppendOnlyText => {
  let pieces: string[] = [];
  let chars = 0;
  /** What was sent before the restart. */
  let before = '';
  /** Whether the text has only repeated `before` since the restart. */
  let isRepeating = false;
  return {
    add(more) {
      const expected = before.slice(chars);
      pieces.push(more);
      chars += more.length;
      if (!isRepeating) return more;
      if (expected.startsWith(more)) return '';
      isRepeating = false;
      if (!more.startsWith(expected)) {
        before += RESTART_SEPARATOR;
        return RESTART_SEPARATOR + pieces.join('');
      }
      before = '';
      return more.slice(expected.length);
    },
    restart() {
      if (!isRepeating) before += pieces.join('');
      isRepeating = true;
      pieces = [];
      chars = 0;
    },
  };
};

/** Makes output events of the entries of one turn. */
type EntryReader = {
  readonly read: (entry: TurnEntry) => readonly OutputEvent[];
  /**
   * Ends the text that is open, and the calls that have begun: as not done, or until someone has decided on `requests`. Those begin
   * there that wait for it.
   */
  readonly end: (requests: readonly ApprovalRequest[]) => readonly OutputEvent[];
  /** The calls that the client has to make. */
  readonly clientCalls: () => readonly ClientCall[];
  /** Whether there was any text. */
  readonly hasText: () => boolean;
  /** Of the last entry. */
  readonly position: () => number;
};

/** What is sent of a text, and of the texts that replace it. It gets a new item where its last one has ended. */
type SentText = {
  readonly kind: 'text' | 'reasoning';
  readonly partID: string;
  readonly text: AppendOnlyText;
  items: number;
  isOpen: boolean;
};

type TextEntry = Extract<TurnEntry, { readonly type: 'text' | 'reasoning' }>;
type CallEntry = Extract<TurnEntry, { readonly type: 'call' | 'call-ended' }>;

const NOT_DONE = 'It was not done when this answer ended';

const idOf = ({ partID, items }: SentText): string => (items === 1 ? partID : `${partID}+${items}`);

/** Such as an answer shows it. A value in a form is never cut. */
const toCall = ({ callID, partID, name, arguments: input }: CallEntry): AgentToolCall => ({
  ...{ id: callID, partID, name },
  input: name === STRUCTURED_OUTPUT_CALL ? input : input.slice(0, SHOWN_CHARS),
});

/** The reader of a turn after a position. */
export const createEntryReader = (from: number): EntryReader => {
  /** Texts of the message that is read, by their part. */
  const texts = new Map<string, SentText>();
  /** Those whose attempt has failed: the next text of their kind takes their place. */
  const withdrawn: SentText[] = [];
  const calls = new Map<string, AgentToolCall>();
  const clientCalls = new Map<string, ClientCall>();
  let current: SentText | undefined;
  let hasText = false;
  let position = from;

  const endText = (): readonly OutputEvent[] => {
    const ended = current;
    current = undefined;
    if (ended === undefined || !ended.isOpen) return [];
    ended.isOpen = false;
    return [{ kind: `${ended.kind}-end`, id: idOf(ended) }];
  };
  const sentFor = ({ type: kind, partID }: TextEntry): SentText => {
    const known = texts.get(partID);
    if (known !== undefined) return known;
    const replaced = withdrawn.findIndex((sent) => sent.kind === kind);
    const [sent = { kind, partID, text: createAppendOnlyText(), items: 0, isOpen: false }] =
      replaced === -1 ? [] : withdrawn.splice(replaced, 1);
    texts.set(partID, sent);
    return sent;
  };
  const readText = (entry: TextEntry): readonly OutputEvent[] => {
    const sent = sentFor(entry);
    const before = current === sent ? [] : endText();
    current = sent;
    const text = sent.text.add(entry.text);
    if (text === '') return before;
    if (!sent.isOpen) {
      sent.isOpen = true;
      sent.items += 1;
    }
    if (sent.kind === 'text') hasText = true;
    return [...before, { kind: sent.kind, id: idOf(sent), text }];
  };
  const withdraw = (partID: string): void => {
    const sent = texts.get(partID);
    if (sent === undefined) return;
    texts.delete(partID);
    sent.text.restart();
    withdrawn.push(sent);
  };
  return {
    read(entry) {
      position = entry.position;
      switch (entry.type) {
        case 'text':
        case 'reasoning':
          return readText(entry);
        case 'text-ended':
        case 'reasoning-ended':
          return current !== undefined && texts.get(entry.partID) === current ? endText() : [];
        case 'withdrawn':
          withdraw(entry.partID);
          return [];
        case 'call': {
          const { callID: id, partID, name, arguments: input } = entry;
          if (entry.isForClient) {
            clientCalls.set(partID, { id, partID, name, input });
            return [];
          }
          const call = toCall(entry);
          calls.set(partID, call);
          return [...endText(), { kind: 'call', call }];
        }
        case 'call-ended': {
          // One that the client cannot make, which the agent has answered itself.
          if (clientCalls.delete(entry.partID)) return [];
          const call = calls.get(entry.partID) ?? toCall(entry);
          calls.delete(entry.partID);
          const { output, isError } = entry;
          return [...endText(), { kind: 'call-end', call, output: output.slice(0, SHOWN_CHARS), isError }];
        }
        case 'step':
          texts.clear();
          withdrawn.length = 0;
          return endText();
        default:
          return entry satisfies never;
      }
    },
    end(requests) {
      const begun = [...calls.values()];
      const notBegun = requests.flatMap(({ call }) =>
        call === undefined || begun.some(({ id }) => id === call.id) ? [] : [call],
      );
      const isWaiting = requests.length > 0;
      const ends = [...begun, ...notBegun].map((call) => {
        const approvalRequestID = requests.find((request) => request.call?.id === call.id)?.id;
        return { kind: 'call-end' as const, call, output: NOT_DONE, isError: true, isWaiting, approvalRequestID };
      });
      calls.clear();
      return [...endText(), ...ends];
    },
    clientCalls: () => [...clientCalls.values()],
    hasText: () => hasText,
    position: () => position,
  };
};
