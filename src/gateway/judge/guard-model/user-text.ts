/**
 * What begins a line in the prompts of guard models: the roles of a conversation, headings, and the words of their answers. Control
 * tokens are broken already.
 */
const PROMPT_LINE =
  /^(?=[ \t]*(?:#{2,}|(?:user|agent|assistant|system|developer|human|model|chatbot|ai|safety|categories|(?:human|user|assistant|chatbot) (?:question|message|response))[ \t]*:))/gim;

/**
 * A text as the message of a user: lines that look like those of a guard model's prompt are quoted. A guard model's form has no
 * markers with a number of their own around the text, so nothing more can tell the text from what is around it.
 */
export const quotePromptLines = (text: string): string => text.replace(PROMPT_LINE, '> ');
