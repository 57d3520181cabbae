/** What distinguishes a background task of a front end from a message of a person. */
export type RequestTraits = {
  readonly system: string;
  /** The text of the prompt. */
  readonly promptText: string;
  readonly hasHistory: boolean;
  readonly isStreamed: boolean;
};

/**
 * Beginnings of the fixed instructions with which front ends have chats titled, tagged and so on. Only texts that no person
 * types: a message about titles must not count as a background task.
 */
const INSTRUCTIONS: readonly RegExp[] = [
  // LobeChat and Cherry Studio, in several editions
  /^You are a professional conversation summarizer\. Generate a concise title /,
  /^(?:You are an? (?:conversational )?assistant\b.{0,60}?\b)?You need to summarize the user's conversation into a title /i,
  /^你是一名擅长会话的助理，你需要将用户的会话总结为.{0,20}标题/,
  // OpenCode
  /^You are a title generator\. You output ONLY a /,
  // crush, and chats made from Vercel's template
  /^[\s-]*you will generate a short title based on the first message a user begins a conversation with/i,
  // n8n's chat hub
  /^Generate a concise, descriptive title for this conversation based on the user's message\./,
  // Open WebUI, where a model cannot call tools by itself
  /^Available Tools: [\s\S]*\n\nYour task is to choose and return the correct tool\(s\) from the list of available tools/,
];
/** Beginnings of prompts that are the user's only message. */
const SINGLE_MESSAGES: readonly RegExp[] = [
  // LibreChat, in several editions
  /^(?:Provide|Please generate) a concise, 5-word-or-less title for the conversation, using /,
  /^Analyze this conversation and provide:\n1\. The detected language of the conversation\n/,
  /^Please generate a concise title \(max 40 characters\) for a conversation that starts with/,
  // Open WebUI
  /^Your task is to reflect the speaker's likely facial expression through a fitting emoji\./,
  // gptme, for the list of chats and for the name of a log
  /^Your task: Create a 2-4 word title for this conversation\.\n\nRules:\n/,
  /^Generate a descriptive name for this conversation\.\n\nThe name should be 3-6 words describing the conversation, /,
  /^\s*The following is a conversation between a user and an assistant\.\s+You should generate a descriptive name for it\./,
  // Continue
  /^Given the following\.\.\. please reply with a title for the chat that is 3-4 words in length/,
  // forks of Cherry Studio
  /^You need to summarize the user's conversation into a title of no more than 10 words/,
];
/** Beginnings of prompts that are the last message of a whole conversation. */
const LAST_MESSAGES: readonly RegExp[] = [
  // NextChat
  /^Please generate a four to five word title summarizing our conversation without any lead-in/,
  /^使用四到五个字直接返回这句话的简要主题，不要解释/,
  // Zed
  /^Generate a concise 3-7 word title for this conversation, omitting punctuation\. Go straight to the title/,
];

/** Beginnings of Open WebUI's default prompts, in several editions. */
const OPEN_WEBUI_TASKS: readonly RegExp[] = [
  /^\s*### Task:\s+(?:Generate a concise(?:, 3-5 word)? title (?:with an emoji )?summarizing the chat history\.|Generate 1-3 broad tags categorizing the main themes of the chat history)/,
  /^\s*### Task:\s+Suggest 3-5 relevant follow-up questions or prompts that the user might naturally ask next/,
  /^\s*### Task:\s+Analyze the chat history to determine the necessity of generating search queries/,
  /^(?:Here is the query:\n[\s\S]*\n\n)?Create a concise, 3-5 word phrase (?:with an emoji )?as a (?:title|header) for the (?:previous|following) query/,
];

/** Open WebUI's tasks are never streamed. Those that an operator has reworded hold an instruction, and the chat between tags. */
const isOpenWebUITask = ({ promptText: words, isStreamed }: RequestTraits): boolean => {
  if (isStreamed) return false;
  const hasTags = words.includes('\n<chat_history>\n') && words.includes('\n</chat_history>');
  return (hasTags && /^\s*### Task:\s/.test(words)) || OPEN_WEBUI_TASKS.some((begin) => begin.test(words));
};

/** In UTF-16 units. Longer texts are no such task: no model could read them, and to look through them takes time. */
const TASK_CHARS = 1_048_576;

/** Whether a chat front end sends this for itself: for a title, tags, follow-up questions and the like. */
export const isBackgroundTask = (traits: RequestTraits): boolean => {
  const { system, promptText: words, hasHistory } = traits;
  if (words.length > TASK_CHARS || system.length > TASK_CHARS) return false;
  if (LAST_MESSAGES.some((begin) => begin.test(words))) return true;
  if (hasHistory) return false;
  return (
    isOpenWebUITask(traits) ||
    SINGLE_MESSAGES.some((begin) => begin.test(words)) ||
    INSTRUCTIONS.some((begin) => begin.test(system))
  );
};
