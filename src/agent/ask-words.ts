import { isRecord } from '../core/record.ts';
import type { ToolPart } from './part.ts';
import type { Told } from './store.ts';

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const outputOf = ({ state }: ToolPart): unknown => (state.status === 'completed' ? parsed(state.output) : undefined);

/**
 * What a person should see beside the arguments of a call: when one of them is the token of a preview that was made in this
 * session, the words and the warnings of that preview. They come from the tool's own answer, never from the model.
 */
export const previewWordsFor = (
  input: Readonly<Record<string, unknown>>,
  messages: readonly Told[],
): Readonly<Record<string, unknown>> => {
  const token = input.preview_token;
  if (typeof token !== 'string') return {};
  const previews = messages
    .flatMap(({ parts }) => parts)
    .filter((part) => part.type === 'tool')
    .map(outputOf)
    .filter((output) => isRecord(output) && output.preview_token === token);
  const preview = previews.at(-1);
  if (!isRecord(preview) || typeof preview.summary !== 'string') return {};
  return { preview: { summary: preview.summary, warnings: preview.warnings ?? [] } };
};
