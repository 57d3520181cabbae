import { INVISIBLE_CHARACTERS } from '../../core/text.ts';
import { NOT_SHOWN } from '../approvals/open-approvals.ts';
import { ANSWER_REASON_CHARS, type Approval, type Decision, type Money } from '../protocol.ts';

/** A page for one request, without a script. `status` is that of its response. */
export type LinkPage = { readonly status: number; readonly html: string };

/** Longer arguments are not decided on a small page: who decides must see all of them. */
const SHOWN_CHARS = 20_000;

/** The style of the page, which its policy allows by its hash. */
export const LINK_STYLE = `:root{color-scheme:light dark;font:1rem/1.5 system-ui,sans-serif}
body{margin:0 auto;max-width:40rem;padding:1rem}
h1{font-size:1.25rem;overflow-wrap:anywhere}
pre,blockquote{margin:1rem 0;padding:.75rem;border:1px solid;border-radius:.5rem;overflow-wrap:anywhere}
pre{white-space:pre-wrap}
dt{font-weight:600}dd{margin:0 0 .5rem;overflow-wrap:anywhere}
button,textarea{font:inherit;width:100%;box-sizing:border-box;padding:.75rem;border-radius:.5rem;border:1px solid;margin-top:.75rem}
button{min-height:3rem;font-weight:600;cursor:pointer}
.allow{background:#0b6b3a;color:#fff;border-color:#0b6b3a}.reject{background:#a11d21;color:#fff;border-color:#a11d21}
:focus-visible{outline:3px solid;outline-offset:2px}`;

/** What is not seen is shown as its code, and what HTML would read as its own is not. */
const escaped = (text: string): string =>
  text
    .replace(INVISIBLE_CHARACTERS, (hidden) =>
      hidden === '\n' || hidden === '\t' ? hidden : `\\u{${(hidden.codePointAt(0) ?? 0).toString(16)}}`,
    )
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');

const htmlOf = (title: string, body: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex"><title>${escaped(title)}</title><style>${LINK_STYLE}</style></head>
<body><main><h1>${escaped(title)}</h1>
${body}</main></body></html>
`;

const paragraph = (text: string): string => `<p>${escaped(text)}</p>\n`;
const entry = (name: string, text: string | undefined): string =>
  text === undefined || text === '' ? '' : `<dt>${escaped(name)}</dt><dd>${escaped(text)}</dd>\n`;
const time = (ms: number | undefined): string | undefined =>
  ms === undefined ? undefined : `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`;

const moneyBlock = (money: Money | undefined): string => {
  if (money === undefined) return '';
  const warnings = money.warnings.map((text) => `<li>${escaped(text)}</li>`).join('');
  // The figures say what the sentence says.
  const summary = money.amount === undefined ? paragraph(money.summary) : '';
  return `<blockquote>${summary}<dl>
${entry('Who', money.user)}${entry('How much', money.amount)}${entry('Balance at the preview', money.before)}${entry('Balance after', money.after)}</dl>
${warnings === '' ? '' : `<ul>${warnings}</ul>`}${paragraph(money.source)}</blockquote>\n`;
};

const DECIDED = { once: 'allowed once', always: 'allowed always', reject: 'rejected', expired: 'not answered in time' };

/** Who decided a request and how, as a sentence. */
export const decisionSentence = ({ reply, by, at }: Decision): string =>
  reply === 'cancelled'
    ? 'The run that asked has ended.'
    : `It was ${DECIDED[reply]}${by === undefined ? '' : ` by ${by}`}, ${time(at)}.`;

const form = (mayAllow: boolean): string => `<form method="post">
${mayAllow ? '<button class="allow" name="decision" value="once">Allow once</button>\n' : ''}<label for="reason">Reason, for the model (only with Reject)</label>
<textarea id="reason" name="reason" rows="2" maxlength="${ANSWER_REASON_CHARS}"></textarea>
<button class="reject" name="decision" value="reject">Reject</button>
</form>
`;

const argumentsText = (approval: Approval): string => JSON.stringify(approval.arguments, null, 2) ?? 'none';

/** Whether the page shows all of the arguments: only then can the call be allowed there. */
export const isShownWhole = (approval: Approval): boolean =>
  approval.argumentsHash !== NOT_SHOWN && argumentsText(approval).length <= SHOWN_CHARS;

/** An open request with every argument, and two buttons. */
export const askingPage = (approval: Approval): LinkPage => {
  const { tool, title, parentTitle, patterns, money, ends } = approval;
  // What every call matches says nothing beside this one call.
  const matched = patterns.filter((pattern) => pattern !== '*').join(', ');
  const text = argumentsText(approval);
  const isWhole = isShownWhole(approval);
  const note =
    text.length <= SHOWN_CHARS
      ? ''
      : paragraph(
          `These are the first ${SHOWN_CHARS} characters of ${text.length}. Open the console to see all of them and to allow the call: here it can only be rejected.`,
        );
  return {
    status: 200,
    html: htmlOf(
      `May ${tool} be called?`,
      `<dl>${entry('Conversation', parentTitle ?? title)}${entry('Task', parentTitle === undefined ? '' : title)}${entry('Applies to', matched)}${entry('Waits until', time(ends))}</dl>
${moneyBlock(money)}<h2>Arguments</h2>
<pre>${escaped(text.slice(0, SHOWN_CHARS))}</pre>
${note}${form(isWhole)}${paragraph('This link answers this one request, with exactly these arguments, once.')}`,
    ),
  };
};

/** After an answer that counted. */
export const donePage = (decision: Decision): LinkPage => ({
  status: 200,
  html: htmlOf('Thank you', paragraph(decisionSentence(decision))),
});

/** For a request that is not open any more. */
export const overPage = (decision: Decision | undefined): LinkPage => ({
  status: 410,
  html: htmlOf(
    'This request is over',
    paragraph(
      decision === undefined
        ? 'It was decided, its time was over, or its run has ended. If its agent server does not answer at the moment, try again soon.'
        : decisionSentence(decision),
    ),
  ),
});

/** For a link that is none of ours, or of other arguments. */
export const unknownPage = (): LinkPage => ({
  status: 404,
  html: htmlOf(
    'This link is not valid',
    paragraph(
      'Its end may be missing, the arguments of the call may have changed since, or the console was restarted without CONSOLE_SECRET. Open the console to see what waits.',
    ),
  ),
});

/** For an answer that could not be given. */
export const failedPage = (status: number, message: string): LinkPage => ({
  status,
  html: htmlOf('It was not decided', paragraph(message)),
});
