import type { ChatModel } from './chat-model.ts';
import type { ModelVoice } from './voice.ts';

const INSTRUCTION =
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

/** Asks a model for a title of a conversation that began with `asked`. Nothing when it gives none. */
export const titleFor = async (
  model: ChatModel,
  { voice, asked, sessionID }: { readonly voice: ModelVoice; readonly asked: string; readonly sessionID: string },
  signal: AbortSignal,
): Promise<string | undefined> => {
  const content = [{ kind: 'text' as const, text: asked.slice(0, ASKED_CHARS) }];
  const { target } = voice;
  const request = { target, system: INSTRUCTION, messages: [{ role: 'user' as const, content }], tools: [], sessionID };
  let said = '';
  for await (const event of model(request, signal)) if (event.kind === 'text') said += event.delta;
  return titleIn(said);
};
