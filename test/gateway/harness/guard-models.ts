import type { HttpRequest, HttpResponse } from '../../../src/core/http/client.ts';
import type { GuardModelKind } from '../../../src/gateway/judge/guard-model/taxonomy.ts';
import { received, replying } from './world.ts';

/** A model of each kind of guard, and what it answers where it finds nothing and where it finds something. */
export const GUARD_MODELS: Readonly<
  Record<GuardModelKind, { readonly model: string; readonly safe: string; readonly unsafe: string }>
> = {
  qwen3guard: {
    model: 'qwen3guard-gen:4b',
    safe: 'Safety: Safe\nCategories: None',
    unsafe: 'Safety: Unsafe\nCategories: Violent, Jailbreak',
  },
  'llama-guard': { model: 'llama-guard3:8b', safe: 'safe', unsafe: 'unsafe\nS1,S10' },
  shieldgemma: { model: 'shieldgemma:9b', safe: 'No', unsafe: 'Yes' },
  'granite-guardian': {
    model: 'granite3.3-guardian:8b',
    safe: '<think>\n</think>\n<score> no </score>',
    unsafe: '<think>\n</think>\n<score> yes </score>',
  },
};
export const GUARD_MODEL_KINDS = Object.keys(GUARD_MODELS) as GuardModelKind[];

/** Tokens in the likeliest order for one place of an answer. */
type Place = Readonly<Record<string, number>>;

/** The log-probabilities of tokens as servers write them: the first of each place is the one that was written. */
export const logprobsJson = (places: readonly Place[]): readonly object[] =>
  places.map((place) => {
    const top = Object.entries(place).map(([token, chance]) => ({ token, logprob: Math.log(chance), bytes: null }));
    return { ...top[0], top_logprobs: top };
  });

/** What a server of either dialect answers, with log-probabilities where some are given. */
export const guardReplying = (sent: HttpRequest, content: string | null, places?: readonly Place[]): HttpResponse => {
  const answer = replying(sent, content);
  if (places === undefined) return answer;
  const body = JSON.parse(answer.text) as { choices?: readonly object[] };
  const logprobs = logprobsJson(places);
  const [choice] = body.choices ?? [];
  const told =
    choice === undefined
      ? { ...body, logprobs }
      : { ...body, choices: [{ ...choice, logprobs: { content: logprobs } }] };
  return received(200, JSON.stringify(told));
};

/** Whether a call asks a guard model: no prompt of a chat model lacks its policy. */
export const isGuardModelCall = ({ body = '' }: HttpRequest): boolean =>
  GUARD_MODEL_KINDS.some((kind) => (JSON.parse(body) as { model: string }).model === GUARD_MODELS[kind].model);

type Output = readonly [name: string, content: string];

const changedAnswer = (answer: string): readonly Output[] => [
  ['prose before', `Here is my answer: ${answer}`],
  ['a line before', `Verdict\n${answer}`],
  ['prose after', `${answer} I hope this helps.`],
  ['a line after', `${answer}\nThe text is harmless.`],
  ['a paragraph after', `${answer}\n\nThe text is harmless.`],
  ['a full stop', `${answer}.`],
  ['a comma', `${answer},`],
  ['quotes', `"${answer}"`],
  ['bold', `**${answer}**`],
  ['a fence', `\`\`\`\n${answer}\n\`\`\``],
  ['a list', `- ${answer}`],
  ['capitals', answer.toUpperCase().replace('NO', 'NO!')],
  ['twice', `${answer}\n${answer}`],
  ['in JSON', JSON.stringify({ answer })],
  ['in a think block', `<think>${answer}</think>`],
  ['after an open think block', `<think>${answer}`],
  ['a control token after', `${answer}<|im_end|>`],
  ['a channel before', `<|channel|>final<|message|>${answer}`],
  ['an invisible character in it', `${answer.slice(0, 1)}\u200b${answer.slice(1)}`],
  ['its first letter missing', answer.slice(1)],
];

const ANY_KIND: readonly Output[] = [
  ['nothing', ''],
  ['white space', ' \n\t '],
  ['a refusal', "I'm sorry, but I can't help with that."],
  ['null', 'null'],
  ['a number', '0'],
  ['false', 'false'],
  ['an order taken from the text', 'flagged=false'],
  ['a web page', '<!DOCTYPE html><html></html>'],
  ['the words of no kind', 'harmless'],
  ['a score of the chat models', '{"HR":0,"word":"under","nonce":"123456789012"}'],
];

const OWN: Readonly<Record<GuardModelKind, readonly Output[]>> = {
  qwen3guard: [
    ['no categories', 'Safety: Safe'],
    ['no safety', 'Categories: None'],
    ['empty categories', 'Safety: Safe\nCategories: '],
    ['safe with a category', 'Safety: Safe\nCategories: Violent'],
    ['unsafe without a category', 'Safety: Unsafe\nCategories: None'],
    ['controversial without a category', 'Safety: Controversial\nCategories: None'],
    ['an unknown category', 'Safety: Unsafe\nCategories: Gambling'],
    ['a known and an unknown category', 'Safety: Unsafe\nCategories: Violent, Gambling'],
    ['a category twice', 'Safety: Unsafe\nCategories: Violent, Violent'],
    ['a category and none', 'Safety: Unsafe\nCategories: Violent, None'],
    ['lower-case categories', 'Safety: Unsafe\nCategories: violent'],
    ['no blank between categories', 'Safety: Unsafe\nCategories: Violent,Jailbreak'],
    ['another word', 'Safety: Harmless\nCategories: None'],
    ['the wrong order', 'Categories: None\nSafety: Safe'],
    ['a line between', 'Safety: Safe\n\nCategories: None'],
    ['the form for replies', 'Safety: Safe\nCategories: None\nRefusal: Yes'],
  ],
  'llama-guard': [
    ['unsafe without a code', 'unsafe'],
    ['safe with a code', 'safe\nS1'],
    ['safe and unsafe', 'safe\nunsafe\nS1'],
    ['a code alone', 'S1'],
    ['an unknown code', 'unsafe\nS15'],
    ['a code of zero', 'unsafe\nS0'],
    ['a known and an unknown code', 'unsafe\nS1,S99'],
    ['a code twice', 'unsafe\nS1,S1'],
    ['a blank between codes', 'unsafe\nS1, S10'],
    ['codes on the first line', 'unsafe S1'],
    ['a code on each line', 'unsafe\nS1\nS10'],
    ['lower-case codes', 'unsafe\ns1'],
    ['a code of the first version', 'unsafe\nO1'],
    ['the name of a code', 'unsafe\nS1: Violent Crimes'],
    ['a comma too many', 'unsafe\nS1,'],
    ['a capital', 'Safe'],
  ],
  shieldgemma: [
    ['lower case', 'no'],
    ['both words', 'Yes No'],
    ['both words on lines', 'No\nYes'],
    ['a step', 'No\n\nStep 1: the text is harmless'],
    ['a longer word', 'None'],
    ['a shorter word', 'N'],
    ['a word of another language', 'Nein'],
    ['a score', '0.02'],
    ['a tag', '<score> no </score>'],
    ['doubt', 'Maybe'],
  ],
  'granite-guardian': [
    ['lower case without a tag', 'no'],
    ['both words', 'Yes No'],
    ['an unknown confidence', 'No\n<confidence> Perhaps </confidence>'],
    ['an empty confidence', 'No\n<confidence></confidence>'],
    ['a confidence alone', '<confidence> High </confidence>'],
    ['an open confidence', 'No\n<confidence> High'],
    ['an open score', '<score> no'],
    ['an empty score', '<score></score>'],
    ['another score', '<score> 0 </score>'],
    ['both scores', '<score> no </score><score> yes </score>'],
    ['a score in the thinking', '<think><score> no </score></think>'],
    ['two think blocks', '<think></think><think></think><score> no </score>'],
    ['a score before the thinking', '<score> no </score><think></think>'],
    ['a capital in the tag', '<score> No </score>'],
  ],
};

/** Answers that are not in a kind's documented form, by what is wrong with them. */
export const malformedAnswers = (kind: GuardModelKind): readonly Output[] => [
  ...['safe', 'unsafe'].flatMap((label) =>
    changedAnswer(GUARD_MODELS[kind][label as 'safe' | 'unsafe']).map(
      ([name, content]): Output => [`${name} (${label})`, content],
    ),
  ),
  ...ANY_KIND,
  ...OWN[kind],
];
