import { ModelError, type ModelMessage } from '../../../../src/agent/model/types.ts';
import { failing } from '../../harness/world.ts';

/** A model whose context is full. */
export const TOO_LONG = failing(new ModelError('overflow', 'The context is full'));
/** What the model says as a summary. */
export const SUMMARY = 'Ann wants 5; ticket 17.';

/** What is said, in words. */
export const promptTexts = (messages: readonly ModelMessage[] = []): readonly string[] =>
  messages.map((outputText) => {
    if (outputText.role === 'user')
      return outputText.content.map((piece) => (piece.kind === 'text' ? piece.text : 'file')).join();
    if (outputText.role === 'assistant')
      return `<${outputText.text}${outputText.calls.map(({ name }) => ` ${name}`).join('')}>`;
    return outputText.results.map(({ output }) => `[${output}]`).join('');
  });
