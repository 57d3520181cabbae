import type { Span, TraceContext } from '../../core/http/tracing.ts';
import type { Titler } from '../agents/types.ts';
import { countModelCall } from '../metrics.ts';
import type { ChatModel } from '../model/types.ts';
import type { MessageTokens, UserMessage } from '../protocol/types.ts';
import type { AgentRuntime } from '../runtime.ts';
import { isDefaultTitle, type Sessions } from '../session/sessions.ts';

const TITLE_LIMIT_CHARS = 100;
const PROMPT_LIMIT_CHARS = 4000;

/** The title in a model's output: its first line that is not empty, without reasoning before it. */
export const parseTitle = (output: string): string | undefined => {
  const line = output
    // Some models begin in the middle of their reasoning.
    .replace(/^[\s\S]*<\/think>/i, '')
    .replace(/<think>[\s\S]*$/i, '')
    .split('\n')
    .map((text) => text.trim())
    .find((text) => text !== '');
  return line === undefined ? undefined : [...line].slice(0, TITLE_LIMIT_CHARS).join('');
};

type TitleNeeds = AgentRuntime & { readonly model: ChatModel; readonly sessions: Sessions };
type TitleRequest = {
  readonly titler: Titler;
  readonly prompt: string;
  readonly sessionID: string;
  readonly span: Span | undefined;
};

/** Asks a model for a title of a conversation that began with `prompt`; undefined when it gives none. */
const generateTitle = async (
  needs: TitleNeeds,
  { titler, prompt, sessionID, span }: TitleRequest,
  signal: AbortSignal,
): Promise<string | undefined> => {
  const content = [{ kind: 'text' as const, text: prompt.slice(0, PROMPT_LIMIT_CHARS) }];
  const { target } = titler.model;
  const request = {
    target,
    system: titler.prompt,
    messages: [{ role: 'user' as const, content }],
    tools: [],
    sessionID,
  };
  const ask = async (trace: TraceContext | undefined) => {
    let output = '';
    let tokens: MessageTokens | undefined;
    for await (const event of needs.model(request, signal, trace)) {
      if (event.kind === 'text') output += event.delta;
      if (event.kind === 'finished') tokens = event.tokens;
    }
    return { output, tokens };
  };
  const { output } = await countModelCall(needs, request, { signal, span, ask });
  return parseTitle(output);
};

const TITLE_TIMEOUT_MS = 30_000;

/** Replaces the default title of a session by one that a model makes from a prompt. Rejects when the model fails. The call is made in `span`. */
export const nameSession = async (
  needs: TitleNeeds,
  { id, sessionID, model: ref }: UserMessage,
  span: Span | undefined,
): Promise<void> => {
  const { clock, store, sessions, catalog, ending } = needs;
  const titler = catalog.titlerFor(ref);
  const parts = (await store.message(sessionID, id))?.parts ?? [];
  const prompt = parts
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('\n')
    .trim();
  if (titler === undefined || prompt === '') return;
  const controller = new AbortController();
  const onTimeout = () => controller.abort(new Error('The title took too long'));
  const cancel = clock.after(TITLE_TIMEOUT_MS, onTimeout);
  ending.addEventListener('abort', onTimeout, { once: true });
  try {
    const title = await generateTitle(needs, { titler, prompt, sessionID, span }, controller.signal);
    if (title === undefined) return;
    await sessions.update(sessionID, (now) => (isDefaultTitle(now.title) ? { ...now, title } : now));
  } finally {
    cancel();
    ending.removeEventListener('abort', onTimeout);
  }
};
