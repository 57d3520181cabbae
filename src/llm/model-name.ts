const LETTER = /[\p{L}\p{N}]/gu;
/** What follows still belongs to the word before it, or makes another version of it. */
const GOES_ON = /^(?:[\p{L}\p{N}]|\.\d)/u;
/** A number of parameters, such as `0.6b`: whoever asked for no size did not ask for this one. */
const OTHER_SIZE = /(?:^|[^\p{L}\p{N}])\d+(?:\.\d+)?[bm](?![\p{L}\p{N}])/u;

/** A model's name without what servers add to it: folders, `.gguf`, `:latest`, Ollama's cloud suffixes. */
const bareName = (name: string): string =>
  (name.split('/').at(-1) ?? name)
    .toLowerCase()
    .replace(/\.gguf$/, '')
    .replace(/:latest$/, '')
    .replace(/[:-]cloud$/, '');

const lettersOf = (name: string): readonly RegExpExecArray[] => [...bareName(name).matchAll(LETTER)];

/**
 * Whether an answer comes from the model that was asked. Servers spell names their own way (`gpt-oss:20b`,
 * `gpt-oss-20b-mxfp4.gguf`), so the answer's name only has to begin like the one asked for, and to end a word there:
 * neither `llama31` nor `llama3.1` nor `llama3-guard:8b` is a `llama3`.
 */
export const isSameModel = (asked: string, answered: string): boolean => {
  if (asked === answered) return true;
  const wanted = lettersOf(asked);
  const given = lettersOf(answered);
  const last = given[wanted.length - 1];
  if (last === undefined || wanted.some(([letter], index) => letter !== given[index]?.[0])) return false;
  const rest = bareName(answered).slice(last.index + last[0].length);
  return !GOES_ON.test(rest) && !OTHER_SIZE.test(rest);
};

/** Whether a model belongs to the gpt-oss family, whose thinking has levels and cannot be turned off. */
export const isGptOss = (model: string): boolean => {
  const name = lettersOf(model).map(([letter]) => letter);
  return name.join('').startsWith('gptoss');
};
