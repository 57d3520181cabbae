import { fileURLToPath } from 'node:url';

/** Where the npm package `openai` is found from here: in a clone, and in a project that has it. */
export const openaiDirectory = (): string | undefined => {
  try {
    const [directory] = fileURLToPath(import.meta.resolve('openai')).split(/[\\/]node_modules[\\/]openai[\\/]/);
    return directory;
  } catch {
    return undefined;
  }
};
