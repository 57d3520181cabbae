import { createDeadline, pause } from '../../core/async.ts';
import { setNewest } from '../../core/bounded-map.ts';
import { type HttpClient, HttpClientError } from '../../core/http/client.ts';
import { isRecord } from '../../core/json.ts';
import type { LogFields } from '../../core/log.ts';
import { isSecretName, REDACTED } from '../../core/redact.ts';
import type { Runtime } from '../../core/runtime.ts';
import { createSemaphore } from '../../core/semaphore.ts';
import { redactedLine } from '../../core/text.ts';
import { bugLogger } from '../errors.ts';
import type { ConsoleMetrics } from '../metrics.ts';
import type { Approval, Money } from '../protocol.ts';
import type { NotifySettings } from '../settings.ts';

/** Announces open requests to the webhook, each once. */
export type Webhook = {
  /** Takes the list of open requests, and announces those that it has not announced. */
  readonly announce: (approvals: readonly Approval[]) => void;
  readonly isAnnounced: (id: string) => boolean;
  /** `onSent`: a message has arrived. */
  readonly start: (onSent: () => void) => void;
  readonly stop: () => void;
};

type WebhookNeeds = Pick<Runtime, 'clock' | 'log'> & {
  readonly settings: NotifySettings;
  /** The address of a request's link. */
  readonly linkFor: (approval: Approval) => Promise<string>;
  readonly httpClient: HttpClient;
  readonly meter: Pick<ConsoleMetrics, 'recordNotification'>;
};

/** The pauses between the attempts, and the one between all others while the request is open. */
const RETRY_AFTER_MS: readonly number[] = [1000, 5000, 25_000, 60_000, 120_000];
const LONGEST_PAUSE_MS = 300_000;
/** After so many attempts it counts as failed, even if a later one is taken. */
const FAILED_AFTER = 4;
const ATTEMPT_LIMIT_MS = 10_000;
const ANSWER_LIMIT_BYTES = 65_536;
const REMEMBERED = 10_000;
const AT_ONCE = 4;
const VALUE_CHARS = 120;
const ARGUMENTS_SHOWN = 10;
const TEXT_CHARS = 600;

/** One line for each argument, without what looks like a secret: a webhook's messages are kept elsewhere, and read by others. */
const argumentLines = (given: unknown): readonly string[] => {
  if (!isRecord(given)) return [];
  const lines = Object.entries(given).map(([name, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return `${redactedLine(name, 60)}: ${isSecretName(name) ? REDACTED : redactedLine(text ?? '', VALUE_CHARS)}`;
  });
  const more = lines.length - ARGUMENTS_SHOWN;
  return more > 0 ? [...lines.slice(0, ARGUMENTS_SHOWN), `and ${more} more`] : lines;
};

/** What a recharge would do, for whom, and what its preview warns of. */
const moneyLines = ({ summary, user, warnings }: Money): readonly string[] => [
  redactedLine(summary, 200),
  ...(user === undefined ? [] : [`User: ${redactedLine(user, 100)}`]),
  ...warnings.map((warning) => `Warning: ${redactedLine(warning, VALUE_CHARS)}`),
];

/** What a message says, in a few lines. */
export const notificationText = ({ title, parentTitle = '', money, arguments: given }: Approval): string => {
  const what = money?.isKnown === true ? moneyLines(money) : argumentLines(given);
  const names = [parentTitle, title].filter((name) => name !== '').map((name) => redactedLine(name, 100));
  const lines = [...(names.length === 0 ? [] : [`In: ${names.join(', task: ')}`]), ...what];
  const text = lines.join('\n');
  return text.length > TEXT_CHARS ? `${[...text.slice(0, TEXT_CHARS)].slice(0, -1).join('')}…` : text;
};

/** What Slack would read as its own. */
const forSlack = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** ntfy takes JSON at the root of the server alone, and the topic in it. */
const ntfyPlace = (url: string): { readonly root: string; readonly topic: string } => {
  const { origin, pathname, search } = new URL(url);
  const parts = pathname.split('/').filter((part) => part !== '');
  return { root: `${origin}/${parts.slice(0, -1).join('/')}${search}`, topic: parts.at(-1) ?? '' };
};

/** Where a message goes, and what it says there. */
const messageFor = ({ url, format }: NotifySettings, approval: Approval, link: string) => {
  const title = `May ${redactedLine(approval.tool, 80)} be called?`;
  const text = notificationText(approval);
  if (format === 'slack') return { url, body: { text: `*${forSlack(title)}*\n${forSlack(text)}\n<${link}|Decide>` } };
  if (format === 'ntfy') {
    const { root, topic } = ntfyPlace(url);
    return { url: root, body: { topic, title, message: text, click: link, tags: ['question'] } };
  }
  const { id, tool, sessionID, ends } = approval;
  const session = redactedLine(approval.title, 200);
  const times = ends === undefined ? {} : { ends: new Date(ends).toISOString() };
  return { url, body: { event: 'approval', id, tool, session: sessionID, title: session, text, link, ...times } };
};

/** Whether the receiver may take it another time. */
const isWorthRepeating = (status: number): boolean => status === 408 || status === 429 || status >= 500;

export const createWebhook = (needs: WebhookNeeds): Webhook => {
  const { settings, linkFor, httpClient, clock, log, meter } = needs;
  let notifySent = (): void => {};
  const places = createSemaphore(AT_ONCE, REMEMBERED);
  const stopping = new AbortController();
  /** Every id that was seen open, and whether its message arrived. */
  const seen = new Map<string, boolean>();
  let open: ReadonlyMap<string, Approval> = new Map();
  /** Why the last attempt failed; undefined while the webhook works. */
  let failing: string | undefined;
  const takeFailure = (event: 'notification-refused' | 'notification-not-sent', fields: LogFields): void => {
    const reason = JSON.stringify([event, fields]);
    if (reason !== failing) log('warn', event, fields);
    failing = reason;
  };

  const attempt = async (url: string, body: string): Promise<'sent' | 'refused' | 'again'> => {
    const leave = await places.acquire(stopping.signal);
    const deadline = createDeadline(clock, ATTEMPT_LIMIT_MS, stopping.signal);
    try {
      const headers = { 'content-type': 'application/json' };
      const sent = { method: 'POST', url, headers, body, signal: deadline.signal } as const;
      const { status } = await httpClient({ ...sent, limitBytes: ANSWER_LIMIT_BYTES });
      if (status < 200 || status >= 300) {
        takeFailure('notification-refused', { status });
        return isWorthRepeating(status) ? 'again' : 'refused';
      }
      if (failing !== undefined) log('info', 'notification-sent-again');
      failing = undefined;
      return 'sent';
    } catch (error) {
      if (!stopping.signal.aborted)
        takeFailure('notification-not-sent', { reason: error instanceof HttpClientError ? error.code : 'not in time' });
      return 'again';
    } finally {
      leave();
      deadline.clear();
    }
  };
  const send = async (id: string): Promise<void> => {
    for (let attempts = 1; ; attempts += 1) {
      const approval = open.get(id);
      if (approval === undefined) {
        // A request that is over needs no message. If its agent server was only away, it is announced when it is back.
        seen.delete(id);
        return meter.recordNotification('ended');
      }
      const { url, body } = messageFor(settings, approval, await linkFor(approval));
      const result = await attempt(url, JSON.stringify(body));
      if (result === 'sent') {
        setNewest(seen, [id, true], REMEMBERED);
        notifySent();
        return meter.recordNotification('sent');
      }
      if (result === 'refused' || attempts === FAILED_AFTER) meter.recordNotification('failed');
      if (result === 'refused') return;
      await pause(clock, RETRY_AFTER_MS[attempts - 1] ?? LONGEST_PAUSE_MS, stopping.signal);
    }
  };
  return {
    announce(approvals) {
      open = new Map(approvals.map((approval) => [approval.id, approval]));
      for (const id of open.keys()) {
        if (seen.has(id)) continue;
        setNewest(seen, [id, false], REMEMBERED);
        send(id).catch((error: unknown) => {
          if (!stopping.signal.aborted) bugLogger(log)(error);
        });
      }
    },
    isAnnounced: (id) => seen.get(id) === true,
    start(onSent) {
      notifySent = onSent;
    },
    stop: () => stopping.abort(),
  };
};
