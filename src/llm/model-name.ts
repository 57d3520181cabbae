/** A model's name without what servers add to it: folders, `.gguf`, `:latest`, Ollama's cloud suffixes, punctuation. */
const essence = (name: string): string =>
  (name.split('/').at(-1) ?? name)
    .toLowerCase()
    .replace(/\.gguf$/, '')
    .replace(/:latest$/, '')
    .replace(/[:-]cloud$/, '')
    .replace(/[^\p{L}\p{N}]/gu, '');

/**
 * Whether an answer comes from the model that was asked. Servers spell names their own way (`gpt-oss:20b`,
 * `gpt-oss-20b-mxfp4.gguf`), so the answer's name only has to begin like the one asked for.
 */
export const isSameModel = (asked: string, answered: string): boolean => essence(answered).startsWith(essence(asked));

/** Whether a model belongs to the gpt-oss family, whose thinking has levels and cannot be turned off. */
export const isGptOss = (model: string): boolean => essence(model).startsWith('gptoss');
