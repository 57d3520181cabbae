import { type CallMeter, meteredCall } from '../metrics.ts';
import type { ChatModel } from '../model/types.ts';
import type { MessageTokens } from '../protocol/types.ts';
import type { ModelVoice } from './types.ts';

/** How a title is asked for, unless the configuration has other words. */
export const TITLE_PROMPT =
  'Generate a title for this conversation: one line of at most eight words, in the language of the user, without quotes, markup or a full stop. Answer with the title alone.';
const TITLE_CHARS = 100;
const ASKED_CHARS = 4000;

/** The title in what a model said: its first line that is one, without thoughts before it. */
export const titleIn = (said: string): string | undefined => {
  const line = said
    // Some models begin in the middle of their thoughts.
    .replace(/^[\s\S]*<\/think>/i, '')
    .replace(/<think>[\s\S]*$/i, '')
    .split('\n')
    .map((text) => text.trim())
    .find((text) => text !== '');
  return line === undefined ? undefined : [...line].slice(0, TITLE_CHARS).join('');
};

/** Who names sessions, and the words that it is told. */
export type Titler = { readonly prompt: string; readonly model: ModelVoice };

export type TitleNeeds = CallMeter & { readonly model: ChatModel };
type Asked = { readonly titler: Titler; readonly asked: string; readonly sessionID: string };

/** Asks a model for a title of a conversation that began with `asked`. Nothing when it gives none. */
export const titleFor = async (
  { model, ...needs }: TitleNeeds,
  { titler, asked, sessionID }: Asked,
  signal: AbortSignal,
): Promise<string | undefined> => {
  const content = [{ kind: 'text' as const, text: asked.slice(0, ASKED_CHARS) }];
  const { target } = titler.model;
  const request = {
    target,
    system: titler.prompt,
    messages: [{ role: 'user' as const, content }],
    tools: [],
    sessionID,
  };
  const ask = async () => {
    let said = '';
    let tokens: MessageTokens | undefined;
    for await (const event of model(request, signal)) {
      if (event.kind === 'text') said += event.delta;
      if (event.kind === 'finished') tokens = event.tokens;
    }
    return { said, tokens };
  };
  const { said } = await meteredCall(needs, request, { signal, ask });
  return titleIn(said);
};
