/** Separates what was sent of a text that then restarted from the new text. */
const RESTART_SEPARATOR = '\n\n';

/** One text of the agent. Both methods return what has to be sent because of the change, which may be empty. */
type AppendOnlyText = {
  /** Whether anything was sent, even if it is withdrawn by now. */
  readonly hasSent: () => boolean;
  readonly add: (more: string) => string;
  /** The whole text is this now: the same, longer, or restarted. */
  readonly replace: (text: string) => string;
};

/**
 * Translates a text that can change into one that can only grow. What was sent cannot be taken back. When a text restarts
 * (its backend was asked again), the part that is repeated is not sent twice, and what differs follows in a new paragraph.
 */
export const createAppendOnlyText = (): AppendOnlyText => {
  let pieces: string[] = [];
  let chars = 0;
  /** What was sent before the restart. */
  let before = '';
  /** Whether the text has only repeated `before` since the restart. */
  let isRepeating = false;

  const add = (more: string): string => {
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
  };
  return {
    hasSent: () => before !== '' || chars > 0,
    add,
    replace(text) {
      const known = pieces.join('');
      if (text.startsWith(known)) return text === known ? '' : add(text.slice(known.length));
      if (!isRepeating) before += known;
      isRepeating = true;
      pieces = [];
      chars = 0;
      return add(text);
    },
  };
};

export type TextKind = 'text' | 'reasoning';

/** A text of a log that can still grow. Pieces are only ever added, and none is empty. */
export type OpenText = { readonly kind: TextKind; readonly id: string; readonly pieces: string[]; isDone: boolean };

/** The current state of a text of the agent. `isOver`: the agent has marked it as complete. */
export type TextState = {
  readonly id: string;
  readonly messageID: string;
  readonly kind: TextKind;
  readonly text: string;
  readonly isOver: boolean;
};

type LogTexts = {
  readonly isOver: (id: string) => boolean;
  readonly add: (id: string, more: string) => void;
  readonly set: (state: TextState) => void;
  /** Ends the texts that an item of this kind follows. They may still grow, in new items; withdrawn ones are not replaced. */
  readonly endBefore: (next: TextKind | 'call') => void;
  readonly endMessage: (messageID: string) => void;
  readonly endAll: () => void;
};

/** What is sent of a text and of those that replace it. It gets a new item when its last one has ended. */
type SentText = {
  readonly kind: TextKind;
  readonly messageID: string;
  readonly text: AppendOnlyText;
  item: OpenText;
  items: number;
  state: 'open' | 'over' | 'withdrawn';
};
/** `sent` is undefined once another text has replaced this one. */
type AgentText = { sent: SentText | undefined; isOver: boolean };

/**
 * The texts of a log. When a backend is asked again, the agent empties a text and writes another one. That one continues
 * the first, as far as it repeats it. `put` adds an item to the log.
 */
export const createLogTexts = (put: (item: OpenText) => void): LogTexts => {
  const texts = new Map<string, AgentText>();
  const allSent: SentText[] = [];

  const endWhere = (isEnded: (sent: SentText) => boolean): void => {
    for (const sent of allSent) if (isEnded(sent)) sent.item.isDone = true;
  };
  const endBefore: LogTexts['endBefore'] = (next) => {
    if (next === 'text') endWhere(() => true);
    else if (next === 'call') endWhere(({ state }) => state !== 'open');
    // Some models never mark their reasoning as complete.
    else endWhere(({ kind, state }) => kind === 'reasoning' || state === 'over');
  };
  const createItem = (kind: TextKind, id: string): OpenText => {
    endBefore(kind);
    const item: OpenText = { kind, id, pieces: [], isDone: false };
    put(item);
    return item;
  };
  const findOrCreateSent = ({ id, kind, messageID }: TextState): SentText => {
    const withdrawn = allSent.find(
      (sent) => sent.state === 'withdrawn' && sent.kind === kind && sent.messageID === messageID,
    );
    for (const text of texts.values()) if (text.sent !== undefined && text.sent === withdrawn) text.sent = undefined;
    if (withdrawn !== undefined) return withdrawn;
    const text = createAppendOnlyText();
    const sent: SentText = { kind, messageID, text, item: createItem(kind, id), items: 1, state: 'open' };
    allSent.push(sent);
    return sent;
  };
  const findOrCreateText = (state: TextState): AgentText => {
    const text = texts.get(state.id) ?? { sent: findOrCreateSent(state), isOver: false };
    texts.set(state.id, text);
    return text;
  };
  const append = (id: string, sent: SentText, more: string): void => {
    if (more === '') return;
    if (sent.item.isDone) {
      sent.items += 1;
      sent.item = createItem(sent.kind, `${id}+${sent.items}`);
    }
    sent.item.pieces.push(more);
  };
  return {
    isOver: (id) => texts.get(id)?.isOver === true,
    add(id, more) {
      const sent = texts.get(id)?.sent;
      if (sent !== undefined) append(id, sent, sent.text.add(more));
    },
    set(state) {
      const text = findOrCreateText(state);
      const { sent } = text;
      if (sent === undefined) return;
      const isEmptied = state.text === '' && sent.text.hasSent();
      append(state.id, sent, sent.text.replace(state.text));
      text.isOver = state.isOver;
      sent.state = state.isOver ? (isEmptied ? 'withdrawn' : 'over') : 'open';
    },
    endBefore,
    endMessage: (messageID) => endWhere((sent) => sent.messageID === messageID),
    endAll: () => endWhere(() => true),
  };
};
