import { answer, type ScriptedReply, text } from './reply.ts';
import type { DialectName, Question } from './request.ts';

/** A question as it came. */
export type AskedModel = Question & {
  readonly dialect: DialectName;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
  /** Whether the caller has left before the answer was over. */
  readonly isLeft: () => boolean;
};

/** Decides what is answered. Nothing means that it does not mind the question. */
export type ModelScript = (asked: AskedModel) => ScriptedReply | undefined;

/** What a test turns and looks at behind the model's back. */
export type ModelControl = {
  /**
   * The answer to the next question, or to the next that `when` accepts; after those that wait already. A bare text is an
   * answer of that text.
   */
  readonly say: (reply: ScriptedReply | string, when?: (asked: AskedModel) => boolean) => void;
  /** The same for every question for which nothing waits. */
  readonly sayAlways: (reply: ScriptedReply | string, when?: (asked: AskedModel) => boolean) => void;
  /** How many answers still wait for their question. */
  readonly waiting: () => number;
  readonly requests: () => readonly AskedModel[];
  /** Forgets what was asked and what was to be said. */
  readonly clear: () => void;
};

type Line = { readonly reply: ScriptedReply; readonly when: (asked: AskedModel) => boolean };

const replyOf = (reply: ScriptedReply | string): ScriptedReply =>
  typeof reply === 'string' ? answer(text(reply)) : reply;
const any = (): boolean => true;

/** A control, and the script that follows it. */
export const createModelControl = (): { readonly control: ModelControl; readonly script: ModelScript } => {
  const lines: Line[] = [];
  const standing: Line[] = [];
  const seen: AskedModel[] = [];
  return {
    control: {
      say: (reply, when = any) => void lines.push({ reply: replyOf(reply), when }),
      // The latest comes first: it was said with the others in mind.
      sayAlways: (reply, when = any) => void standing.unshift({ reply: replyOf(reply), when }),
      waiting: () => lines.length,
      requests: () => [...seen],
      clear() {
        lines.length = 0;
        standing.length = 0;
        seen.length = 0;
      },
    },
    script(asked) {
      seen.push(asked);
      const place = lines.findIndex(({ when }) => when(asked));
      if (place === -1) return standing.find(({ when }) => when(asked))?.reply;
      return lines.splice(place, 1)[0]?.reply;
    },
  };
};
