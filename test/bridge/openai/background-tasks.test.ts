import * as assert from 'uvu/assert';
import { isBackgroundTask, type RequestTraits } from '../../../src/bridge/openai/background-tasks.ts';
import { describe } from '../../check.ts';

const signs = (given: Partial<RequestTraits>): RequestTraits => ({
  system: '',
  promptText: 'Hi',
  hasHistory: false,
  isStreamed: false,
  ...given,
});

const inTags = (task: string) =>
  `### Task:\n${task}\n### Output:\nJSON\n### Chat History:\n<chat_history>\nUSER: hi\n</chat_history>`;
const ALONE = [
  inTags('Generate a concise, 3-5 word title with an emoji summarizing the chat history.'),
  inTags('Generate 1-3 broad tags categorizing the main themes.'),
  inTags('Suggest 3-5 relevant follow-up questions.'),
  `${inTags('You are an autocompletion system.')}\n<text>so</text>\n`,
  "Your task is to reflect the speaker's likely facial expression through a fitting emoji. Interpret it.",
  'Provide a concise, 5-word-or-less title for the conversation, using title case conventions. Only return the title itself.',
  'Please generate a concise, 5-word-or-less title for the conversation, using its same language',
  'Analyze this conversation and provide:\n1. The detected language of the conversation\n2. A concise title',
  'Please generate a concise title (max 40 characters) for a conversation that starts with:\nUser: hi',
  'Given the following... please reply with a title for the chat that is 3-4 words in length, all words',
  'Your task: Create a 2-4 word title for this conversation.\n\nRules:\n- Respond with ONLY the title',
  'Generate a descriptive name for this conversation.\n\nThe name should be 3-6 words describing the conversation, separated by dashes.',
  '\nThe following is a conversation between a user and an assistant.\nYou should generate a descriptive name for it.\n',
  'Here is the query:\nhow are you?\n\nCreate a concise, 3-5 word phrase with an emoji as a title for the previous query.',
  'Create a concise, 3-5 word phrase as a header for the following query, strictly adhering to',
  "You need to summarize the user's conversation into a title of no more than 10 words, with the title",
];
/** Default prompts of Open WebUI by their first words. */
const KNOWN_BEGINNINGS = [
  'Generate a concise title summarizing the chat history.\n### Guidelines:',
  'Generate a concise, 3-5 word title with an emoji summarizing the chat history.\n### Guidelines:',
  'Generate 1-3 broad tags categorizing the main themes of the chat history, along with 1-3 more specific subtopic tags.',
  'Suggest 3-5 relevant follow-up questions or prompts that the user might naturally ask next in this conversation as a **user**,',
  'Analyze the chat history to determine the necessity of generating search queries, in the given language.',
].map((task) => `### Task:\n${task}`);
const INSTRUCTIONS = [
  'You are a professional conversation summarizer. Generate a concise title that captures the essence.',
  "You are an assistant skilled in conversation. You need to summarize the user's conversation into a title within 10 words.",
  "You are an assistant who is good at conversation. You need to summarize the user's conversation into a title within 10 words.",
  "You are a conversational assistant and you need to summarize the user's conversation into a title of 10 words or less.",
  '你是一名擅长会话的助理，你需要将用户的会话总结为 10 个字以内的标题，不需要包含标点符号',
  'You are a title generator. You output ONLY a thread title. Nothing else.',
  'you will generate a short title based on the first message a user begins a conversation with',
  "Generate a concise, descriptive title for this conversation based on the user's message.\n\nRequirements:",
  'Available Tools: [{"name":"x"}]\n\nYour task is to choose and return the correct tool(s) from the list of available tools based on the query.',
];
const AFTERWARDS = [
  'Please generate a four to five word title summarizing our conversation without any lead-in, punctuation',
  '使用四到五个字直接返回这句话的简要主题，不要解释、不要标点、不要语气词',
  'Generate a concise 3-7 word title for this conversation, omitting punctuation. Go straight to the title, without',
];
const PEOPLE = [
  'Generate a concise, 3-5 word title for my blog post about cats',
  'Can you suggest 3-5 follow-up questions for my interview?',
  'Please generate a title for our conversation',
  'Generate a descriptive name for this conversation.',
  'Your task: Create a 2-4 word title for this conversation',
  'Generate a title for this conversation',
  'Suggest 3-5 relevant follow-up questions or prompts that the user might naturally ask next',
  'Provide a concise title for the conversation below.',
  '### Task:\nSummarise this log in three bullet points.',
  '### Task:\nWhat is the last line of this for?\n</chat_history>',
  '### Task:\nWhy does my template with a <chat_history> tag fail?',
  `Why does this prompt of Open WebUI not work?\n\n${inTags('Generate tags.')}`,
  'Your task is to reflect on this essay.',
  'Analyze this conversation and provide a summary',
  'What does "You are a title generator. You output ONLY a thread title." mean?',
  '请为我们的会话起一个标题',
];

describe('a job of a chat front end', (check) => {
  check('is known by how its only message begins', () => {
    for (const words of ALONE) assert.is(isBackgroundTask(signs({ promptText: words })), true, words);
  });
  check('with a default prompt of Open WebUI is known by its first words, unless it is streamed', () => {
    for (const words of KNOWN_BEGINNINGS)
      for (const isStreamed of [true, false])
        assert.is(isBackgroundTask(signs({ promptText: words, isStreamed })), !isStreamed, words);
  });
  check('is known by how its instructions begin', () => {
    for (const system of INSTRUCTIONS) assert.is(isBackgroundTask(signs({ system })), true, system);
    for (const system of INSTRUCTIONS) assert.is(isBackgroundTask(signs({ system, isStreamed: true })), true, system);
  });
  check('is known at the end of a whole conversation', () => {
    for (const words of AFTERWARDS)
      assert.is(isBackgroundTask(signs({ promptText: words, hasHistory: true, isStreamed: true })), true, words);
  });
});

describe('what a person asks', (check) => {
  check('is no such job, whatever it is about', () => {
    for (const words of PEOPLE)
      for (const hasHistory of [true, false])
        assert.is(isBackgroundTask(signs({ promptText: words, hasHistory })), false, words);
  });
  check("is none in a stream, even when it looks like one of Open WebUI's", () => {
    assert.is(isBackgroundTask(signs({ promptText: inTags('Generate tags.'), isStreamed: true })), false);
  });
});
