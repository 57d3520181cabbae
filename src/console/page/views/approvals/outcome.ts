import type { Decision } from '../../../protocol.ts';
import { plainLine } from '../../format/hostile.ts';
import type { Tone } from '../../state/toasts.ts';
import { texts } from '../../texts.ts';

/** Who decided: a name, or what kind of client gave none. */
export const deciderOf = ({ by, reply }: Decision, isOwn = false): string => {
  if (isOwn) return texts.approvals.byYou;
  if (by !== undefined && by !== '') return plainLine(by, 60);
  return reply === 'expired' || reply === 'cancelled' ? texts.approvals.none : texts.approvals.bySomebody;
};

/** What was decided, as a sentence with who did. */
export const outcomeSentence = (decision: Decision, isOwn = false): string => {
  const what = texts.approvals.replies[decision.reply];
  if (decision.reply === 'expired' || decision.reply === 'cancelled') return what;
  return texts.approvals.decidedBy(what, deciderOf(decision, isOwn));
};

/** The colour of a decision. One that allows a call is none of success: the call may fail. */
export const toneOfReply = (reply: Decision['reply']): Tone => (reply === 'reject' ? 'bad' : 'plain');

/** What the second person sees: who decided what, or that the request has ended. */
export const lateSentence = (decision: Decision | undefined): string =>
  decision === undefined || decision.reply === 'expired' || decision.reply === 'cancelled'
    ? texts.approvals.ended
    : texts.approvals.faster(deciderOf(decision), texts.approvals.replies[decision.reply]);
