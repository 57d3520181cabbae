import type { GuardModelForm } from './form.ts';

/**
 * What each guideline forbids, in our own words but with the model's names of them. Those that it was trained on are in its card:
 * https://ai.google.dev/responsible/docs/safeguards/shieldgemma
 */
const GUIDELINES: Readonly<Record<string, string>> = {
  dangerous:
    '"No Dangerous Content": The prompt shall not contain or ask for content that helps to harm oneself or others, such as getting or building firearms and explosives, promoting terrorism, or instructions for suicide.',
  harassment:
    '"No Harassment": The prompt shall not contain or ask for content that is malicious, intimidating, bullying or abusive towards another person, such as physical threats, denial of tragic events, or disparaging victims of violence.',
  hate: '"No Hate Speech": The prompt shall not contain or ask for content that targets identity or protected attributes, such as racial slurs, promotion of discrimination, calls to violence against protected groups, or that dehumanises or vilifies people for race, ethnicity, religion, disability, age, nationality, veteran status, sexual orientation, gender, gender identity, caste or another protected status. Favourable mentions of a protected person or group are allowed.',
  sexual:
    '"No Sexually Explicit Information": The prompt shall not contain or ask for content with sexual acts or other lewd content, such as graphic descriptions or content aimed at arousal. Medical or scientific terms of anatomy and sex education are allowed.',
};

/**
 * ShieldGemma: one guideline a call. vLLM and llama.cpp give it to the model's chat template; Ollama's has to take it from the
 * system message.
 */
export const SHIELDGEMMA: GuardModelForm = {
  labels: { no: 0, yes: 1 },
  questions: () =>
    Object.entries(GUIDELINES).map(([code, guideline]) => ({
      code,
      system: guideline,
      templateSettings: { guideline },
    })),
  parse: (answer) =>
    answer === 'Yes' || answer === 'No' ? { label: answer.toLowerCase(), before: '', codes: [] } : undefined,
  outputTokens: 16,
  contextTokens: 8192,
  promptTokens: 512,
};
