import { CHARS_AROUND_TEXT } from './batch-prompt.ts';
import type { PreparedItem } from './moderate.ts';

/** Longer texts are judged alone: for them the policy is a small part of the prompt. */
export const SHORT_TEXT_CHARS = 1000;

/** Markup, JSON, markers, numbers like a nonce and the roles of a chat: what an answer or a prompt is made of. */
const LOOKS_LIKE_PROMPT =
  /[{}]|\[\s?\[|\]\s?\]|<\s?[|/!\p{L}]|[|｜]\s?>|"\s*:|\d{12}|^[ \t]{0,8}(?:system|assistant|user|human|developer)[ \t]?:/imu;

/** Words for what the judge does, for its orders and for the other texts, in a few languages. */
const TALKS_OF_JUDGING = new RegExp(
  [
    String.raw`\b(?:ignore|disregard|override|instructions?|prompts?|jailbreak|moderat\w+|judg(?:e|es|ed|ing|ment)|verdicts?`,
    String.raw`scor(?:e|es|ed|ing)|classif\w+|categor(?:y|ies)|nonces?|markers?|json|polic(?:y|ies)|language model|chatbot`,
    String.raw`(?:other|next|previous|first|second|third|last|following|preceding|all|every|each|these|those|both|remaining)\s{1,3}(?:texts?|messages?|ones?|inputs?|items?|entries|comments?|posts?)`,
    String.raw`anweisung(?:en)?|ignorier\w*|bewert\w+|urteil\w*|(?:ander|nächst|vorig|folgend|all)e[nrs]?\s{1,3}texte?n?`,
    String.raw`ignore[rz]|consignes?|jugement|(?:autres?|tous les)\s{1,3}textes?|instrucciones|ignora\w*|otros\s{1,3}textos|veredicto)\b`,
  ].join('|'),
  'iu',
);
/** Scripts in which words end elsewhere than at `\b`. */
const TALKS_OF_JUDGING_ELSEWHERE =
  /игнорир|инструкци|(?:други|следующи|остальны|все)\S{0,4}\s{1,3}(?:текст|сообщени)|تجاهل|تعليمات|忽略|无视|無視|指令|提示词|提示詞|评分|評分|打分|判定|审核|審核|裁决|裁決|(?:其他|下一|上一|所有|以上|以下)(?:个|個|条|條|的)?(?:文本|文字|消息|内容|內容)/u;

/**
 * True when a text may be about its own judging or about the texts beside it. A guess, by design on the side of caution: who is
 * found pays one call, and who is not found can still try to persuade the judge, in a batch for other texts as well.
 */
export const mayAddressJudge = (text: string): boolean =>
  LOOKS_LIKE_PROMPT.test(text) || TALKS_OF_JUDGING.test(text) || TALKS_OF_JUDGING_ELSEWHERE.test(text);

/** The text of an item that may be judged beside others: one short view, nothing hidden, no image, no word about judging. */
export const batchableText = ({ views, hidden, image }: PreparedItem): string | undefined => {
  const [only, second] = views;
  if (only === undefined || second !== undefined || image !== undefined || hidden.length > 0) return undefined;
  return only.length <= SHORT_TEXT_CHARS && !mayAddressJudge(only) ? only : undefined;
};

/**
 * Splits texts into groups of at most `size` that fit the window, as evenly as that allows, and keeps their order. A group of
 * one is possible.
 */
export const splitGroups = <T extends { readonly text: string }>(
  members: readonly T[],
  { size, windowChars }: { readonly size: number; readonly windowChars: number },
): readonly (readonly T[])[] => {
  const evenSize = Math.ceil(members.length / Math.max(1, Math.ceil(members.length / size)));
  const groups: T[][] = [];
  let room = 0;
  for (const member of members) {
    const needed = member.text.length + CHARS_AROUND_TEXT;
    const last = groups.at(-1);
    if (last === undefined || last.length >= evenSize || needed > room) {
      groups.push([member]);
      room = windowChars - needed;
    } else {
      last.push(member);
      room -= needed;
    }
  }
  return groups;
};
