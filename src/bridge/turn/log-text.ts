/** Between what was told of a text that then began anew, and the new text. */
const ANEW = '\n\n';

/** One text of the agent as it is now. Both verbs answer with what is to be told because of them, which may be nothing. */
export type AppendOnlyText = {
  /** Whether anything was told, also if it counts for nothing by now. */
  readonly hasSent: () => boolean;
  /** More of it. */
  readonly add: (more: string) => string;
  /** It reads so now: the same, grown, or begun anew. */
  readonly replace: (wanted: string) => string;
};

/**
 * Says what to tell of a text that changes. What was told cannot be taken back: where a text begins anew (its backend was asked
 * again), what is the same again is not told twice, and what is not comes after it, in a paragraph of its own.
 */
export const createAppendOnlyText = (): AppendOnlyText => {
  let pieces: string[] = [];
  let chars = 0;
  /** What was told before it began anew. */
  let before = '';
  /** Whether it has said nothing else since. */
  let isAgain = false;

  const add = (more: string): string => {
    const due = before.slice(chars);
    pieces.push(more);
    chars += more.length;
    if (!isAgain) return more;
    if (due.startsWith(more)) return '';
    isAgain = false;
    if (!more.startsWith(due)) {
      before += ANEW;
      return ANEW + pieces.join('');
    }
    before = '';
    return more.slice(due.length);
  };
  return {
    hasSent: () => before !== '' || chars > 0,
    add,
    replace(wanted) {
      const known = pieces.join('');
      if (wanted.startsWith(known)) return wanted === known ? '' : add(wanted.slice(known.length));
      if (!isAgain) before += known;
      isAgain = true;
      pieces = [];
      chars = 0;
      return add(wanted);
    },
  };
};

export type TextKind = 'text' | 'reasoning';

/** A text of a log while it is being written. Pieces are only ever added, and none is empty. */
export type OpenText = { readonly kind: TextKind; readonly id: string; readonly pieces: string[]; isDone: boolean };

/** A text of the agent as it is now. `isOver`: the agent has said that this is all. */
export type TextState = {
  readonly id: string;
  readonly messageID: string;
  readonly kind: TextKind;
  readonly text: string;
  readonly isOver: boolean;
};

export type LogTexts = {
  readonly isOver: (id: string) => boolean;
  readonly add: (id: string, more: string) => void;
  readonly set: (now: TextState) => void;
  /** Ends those that something else comes after: they may still be spoken, and what is withdrawn is made up for no more. */
  readonly endBefore: (next: TextKind | 'call') => void;
  readonly endMessage: (messageID: string) => void;
  readonly endAll: () => void;
};

/** What is told of a text, and of those that took its place. It takes another item when the one it was in has ended. */
type Line = {
  readonly kind: TextKind;
  readonly messageID: string;
  readonly teller: AppendOnlyText;
  item: OpenText;
  items: number;
  state: 'spoken' | 'over' | 'withdrawn';
};
/** Without a line once another text has taken its place. */
type Text = { line: Line | undefined; isOver: boolean };

/**
 * The texts of a log. When a backend is asked again the agent empties what was said, and says it in another text: that one goes
 * on where the first stopped, as far as it says the same.
 */
export const createLogTexts = (put: (item: OpenText) => void): LogTexts => {
  const texts = new Map<string, Text>();
  const lines: Line[] = [];

  const endWhere = (isEnded: (line: Line) => boolean): void => {
    for (const line of lines) if (isEnded(line)) line.item.isDone = true;
  };
  const endBefore: LogTexts['endBefore'] = (next) => {
    if (next === 'text') endWhere(() => true);
    else if (next === 'call') endWhere(({ state }) => state !== 'spoken');
    // Some models leave their thoughts open.
    else endWhere(({ kind, state }) => kind === 'reasoning' || state === 'over');
  };
  const begun = (kind: TextKind, id: string): OpenText => {
    endBefore(kind);
    const item: OpenText = { kind, id, pieces: [], isDone: false };
    put(item);
    return item;
  };
  const lineFor = ({ id, kind, messageID }: TextState): Line => {
    const withdrawn = lines.find(
      (line) => line.state === 'withdrawn' && line.kind === kind && line.messageID === messageID,
    );
    for (const text of texts.values()) if (text.line !== undefined && text.line === withdrawn) text.line = undefined;
    if (withdrawn !== undefined) return withdrawn;
    const teller = createAppendOnlyText();
    const line: Line = { kind, messageID, teller, item: begun(kind, id), items: 1, state: 'spoken' };
    lines.push(line);
    return line;
  };
  const textFor = (now: TextState): Text => {
    const text = texts.get(now.id) ?? { line: lineFor(now), isOver: false };
    texts.set(now.id, text);
    return text;
  };
  const tell = (id: string, line: Line, more: string): void => {
    if (more === '') return;
    if (line.item.isDone) {
      line.items += 1;
      line.item = begun(line.kind, `${id}+${line.items}`);
    }
    line.item.pieces.push(more);
  };
  return {
    isOver: (id) => texts.get(id)?.isOver === true,
    add(id, more) {
      const line = texts.get(id)?.line;
      if (line !== undefined) tell(id, line, line.teller.add(more));
    },
    set(now) {
      const text = textFor(now);
      const { line } = text;
      if (line === undefined) return;
      const isEmptied = now.text === '' && line.teller.hasSent();
      tell(now.id, line, line.teller.replace(now.text));
      text.isOver = now.isOver;
      line.state = now.isOver ? (isEmptied ? 'withdrawn' : 'over') : 'spoken';
    },
    endBefore,
    endMessage: (messageID) => endWhere((line) => line.messageID === messageID),
    endAll: () => endWhere(() => true),
  };
};
