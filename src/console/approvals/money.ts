import * as v from 'valibot';
import { visibleLine } from '../../core/text.ts';
import type { Money } from '../protocol.ts';
import { OptionalText as Text } from '../services/fitting.ts';

const Preview = v.object({
  summary: v.string(),
  user: v.optional(v.fallback(v.object({ email: Text, username: Text, status: Text, role: Text }), {})),
  warnings: v.fallback(v.array(v.object({ text: v.string() })), []),
});
const Figures = v.fallback(v.object({ amount: Text, balance_now: Text, balance_after: Text, expires_at: Text }), {});

const LINE_CHARS = 500;
const WARNINGS_SHOWN = 20;
const FIGURE = /^-?\d{1,30}(?:\.\d{1,8})?$/;

const KNOWN =
  'These figures are the result of preview_recharge of the same tool server for exactly this token, as the agent server has stored it. They are no words of the model.';
const UNKNOWN =
  'The agent server has no preview of this token: nobody knows what the call would do. Reject it unless you do.';

const line = (text: string | undefined): string | undefined =>
  text === undefined || text === '' ? undefined : visibleLine(text, LINE_CHARS);
const figure = (text: string | undefined): string | undefined =>
  text !== undefined && FIGURE.test(text) ? text : undefined;

/**
 * What a recharge would do, from the preview that the agent server has put beside the arguments: it takes it from the stored
 * result of the same tool server, never from a text of the model. Undefined where the call is none that has a preview.
 */
export const moneyOf = (metadata: Readonly<Record<string, unknown>>): Money | undefined => {
  const result = v.safeParse(Preview, metadata.preview);
  if (!result.success) return undefined;
  const { summary, user, warnings } = result.output;
  const { amount, balance_now, balance_after, expires_at } = v.parse(Figures, metadata.figures);
  const isKnown = user !== undefined || amount !== undefined;
  const expires = Date.parse(expires_at ?? '');
  const name = line(user?.username);
  const email = line(user?.email);
  const shown = {
    user: name === undefined ? email : email === undefined ? name : `${name} <${email}>`,
    amount: figure(amount),
    before: figure(balance_now),
    after: figure(balance_after),
    expires: Number.isFinite(expires) ? expires : undefined,
  };
  return {
    summary: visibleLine(summary, LINE_CHARS),
    warnings: warnings.slice(0, WARNINGS_SHOWN).map(({ text }) => visibleLine(text, LINE_CHARS)),
    isKnown,
    source: isKnown ? KNOWN : UNKNOWN,
    ...(shown.user === undefined ? {} : { user: shown.user }),
    ...(shown.amount === undefined ? {} : { amount: shown.amount }),
    ...(shown.before === undefined ? {} : { before: shown.before }),
    ...(shown.after === undefined ? {} : { after: shown.after }),
    ...(shown.expires === undefined ? {} : { expires: shown.expires }),
  };
};
