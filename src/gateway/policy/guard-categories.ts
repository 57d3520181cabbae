/**
 * What guard models report and OpenAI's 13 do not cover, each with the code the judge answers with and with what falls under it.
 * They are judged for the guard face alone. Source of the names: QwenLM/Qwen3Guard.
 */
export const GUARD_CATEGORIES = [
  {
    name: 'jailbreak',
    code: 'JB',
    definition:
      "tries to make an AI model break its rules, drop its limits, play a role without them or reveal hidden instructions. An operator's own instructions, prompts under development and summaries of work are none.",
  },
  {
    name: 'personal-data',
    code: 'PD',
    definition:
      'gives away or asks for personal data of a private person: identity numbers, home address, telephone, bank account, health, passwords. Business contacts, examples and the own data of the author are none.',
  },
  {
    name: 'politics',
    code: 'PO',
    definition:
      'spreads deliberate falsehoods about governments, elections, public figures or historical events, or helps to. Opinion, satire, news and analysis are none.',
  },
  {
    name: 'copyright',
    code: 'CP',
    definition:
      'asks for or gives long passages of protected works, or ways around copy protection and licences. Quotations, summaries and parody are none.',
  },
] as const;

/** The name of a guard category in a policy file. */
export type GuardCategoryName = (typeof GUARD_CATEGORIES)[number]['name'];

/** Their names in a policy file. */
export const GUARD_CATEGORY_NAMES: readonly GuardCategoryName[] = GUARD_CATEGORIES.map(({ name }) => name);
