const LETTER = /[\p{L}\p{N}]/gu;
/** The rest of a name that continues its last word, or makes it another version. */
const CONTINUES_NAME = /^(?:[\p{L}\p{N}]|\.\d)/u;
/** A number of parameters, such as `0.6b`: a request without a size does not mean this model. */
const OTHER_SIZE = /(?:^|[^\p{L}\p{N}])\d+(?:\.\d+)?[bm](?![\p{L}\p{N}])/u;

/** A model's name without the additions of servers: folders, `.gguf`, `:latest`, Ollama's cloud suffixes. */
const bareName = (name: string): string =>
  (name.split('/').at(-1) ?? name)
    .toLowerCase()
    .replace(/\.gguf$/, '')
    .replace(/:latest$/, '')
    .replace(/[:-]cloud$/, '');

const findLetters = (name: string): readonly RegExpExecArray[] => [...bareName(name).matchAll(LETTER)];

/**
 * Whether an answer comes from the requested model. Servers spell names differently (`gpt-oss:20b`,
 * `gpt-oss-20b-mxfp4.gguf`), so the answer's name only has to begin with the requested one, and a word has to end there:
 * neither `llama31` nor `llama3.1` nor `llama3-guard:8b` is a `llama3`.
 */
export const isSameModel = (requested: string, answered: string): boolean => {
  if (requested === answered) return true;
  const wanted = findLetters(requested);
  const given = findLetters(answered);
  const last = given[wanted.length - 1];
  if (last === undefined || wanted.some(([letter], index) => letter !== given[index]?.[0])) return false;
  const rest = bareName(answered).slice(last.index + last[0].length);
  return !CONTINUES_NAME.test(rest) && !OTHER_SIZE.test(rest);
};

/** Whether a model belongs to the gpt-oss family, whose thinking has levels and cannot be turned off. */
export const isGptOss = (model: string): boolean => {
  const name = findLetters(model).map(([letter]) => letter);
  return name.join('').startsWith('gptoss');
};
